"""Parsing of the command line and exit codes, nothing else: each command returns a report, `run` prints it.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted, 141 the reader closed the pipe.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from lance_arrow.cli.advising.advise_command import add_advise_command
from lance_arrow.cli.authors.author_commands import plugins_app
from lance_arrow.cli.convert_commands import add_convert_commands
from lance_arrow.cli.lazy import view
from lance_arrow.cli.options import EPILOG, UsageError
from lance_arrow.cli.pages.explain_command import add_explain_command
from lance_arrow.cli.printing import to_printable
from lance_arrow.cli.querying.sql_command import add_sql_command
from lance_arrow.cli.render import ErrorReport, HelpReport, error_report, print_json, print_text
from lance_arrow.cli.salvage_command import add_salvage_command
from lance_arrow.cli.storage import StorageOptions, parse_storage_options
from lance_arrow.cli.table_commands import table_app
from lance_arrow.cli.words import WordsGroup, advice
from lance_arrow.errors import InvalidArgumentError

DONE, FAILED, WRONG_USAGE, INTERRUPTED, NO_READER = 0, 1, 2, 130, 141
_JSON_FLAG, _WIDE_FLAG = "--json", "--wide"

app = typer.Typer(
    cls=WordsGroup,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Inspect, verify, convert and maintain Lance files and tables.",
    epilog=EPILOG,
)
zones_app = typer.Typer(
    cls=WordsGroup, rich_markup_mode=None, help="Zone maps: bounds of runs of rows, by which scans skip rows."
)
app.add_typer(zones_app, name="zones", epilog=EPILOG)
app.add_typer(table_app, name="table", epilog=EPILOG)
app.add_typer(plugins_app, name="plugins", epilog=EPILOG)
File = Annotated[str, typer.Argument(metavar="FILE", help="A Lance file: local path, or any URL that fsspec opens.")]
Target = Annotated[
    str,
    typer.Argument(
        metavar="FILE|TABLE",
        help="A Lance file, a table's folder, or a folder of Lance files: local path, or any URL that fsspec opens.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--columns", "-c", metavar="A,B.C", help="Columns by dotted path, separated by commas; default: all."),
]
Version = Annotated[
    str | None,
    typer.Option("--version", "-v", metavar="N|TAG", help="Version of a table, by number or tag; default: the newest."),
]
Branch = Annotated[
    str | None, typer.Option("--branch", "-b", metavar="NAME", help="Branch of a table; default: the main branch.")
]


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the versions of lance-arrow, Python and pyarrow, and exit.")
    ] = False,
) -> Any:
    """Inspect, verify, convert and maintain Lance files and tables."""
    if context.invoked_subcommand is None:
        if version:
            return view("version_view").view_versions()
        raise UsageError("Missing command.")
    if version:
        raise UsageError(
            f"--version takes no command; lance-arrow {context.invoked_subcommand} --help lists its options"
        )
    return None


@app.command(epilog=EPILOG)
def inspect(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|TABLE",
            help="A Lance file: local path, or any URL that fsspec opens. With --html also a table's folder.",
        ),
    ],
    columns: Columns = None,
    html: Annotated[
        bool,
        typer.Option("--html", help="Draw a page of HTML: bytes, zones, fragments, versions; also of damaged files."),
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PAGE", help="File for the page; default: standard output.")
    ] = None,
    version: Version = None,
    branch: Branch = None,
    storage_option: StorageOptions = None,
) -> Any:
    """Show columns, pages, encodings and sizes of a file.

    Reads the footer, the column metadata and no values, so it works without the plugins for the encodings.
    """
    target = _target(file, storage_option, version, branch)
    if html:
        return view("pages.page_command").inspect_page(target, columns=_split(columns), output=output)
    if output is not None:
        raise UsageError("--output is for pages: add --html")
    view("targets").check_is_file(target, command="inspect", instead=f"use lance-arrow table show {file} for")
    return view("file_view").view_file(file, columns=_split(columns), storage_options=target.storage_options)


@app.command(epilog=EPILOG)
def schema(
    target: Target, version: Version = None, branch: Branch = None, storage_option: StorageOptions = None
) -> Any:
    """Show the Arrow schema of a file or table, with its metadata."""
    return view("targets").schema_of(_target(target, storage_option, version, branch))


@app.command(epilog=EPILOG)
def head(
    target: Target,
    num_rows: Annotated[int, typer.Option("-n", "--rows", min=0, help="How many rows.")] = 10,
    columns: Columns = None,
    version: Version = None,
    branch: Branch = None,
    storage_option: StorageOptions = None,
) -> Any:
    """Show the first rows of a file or table."""
    found = _target(target, storage_option, version, branch)
    return view("targets").head_of(found, num_rows=num_rows, columns=_split(columns))


@app.command(epilog=EPILOG)
def stats(
    target: Target,
    columns: Columns = None,
    version: Version = None,
    branch: Branch = None,
    storage_option: StorageOptions = None,
) -> Any:
    """Show nulls, bounds, bytes and codecs of each column.

    Zone maps are used where they exist, else the values are read. Deleted rows of a table are not counted.
    """
    found = _target(target, storage_option, version, branch)
    return view("targets").stats_of(found, columns=_split(columns))


@zones_app.command("show", epilog=EPILOG)
def zones_show(
    target: Target,
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", metavar="A,B.C", help="Columns by dotted path: list each zone of a file."),
    ] = None,
    version: Version = None,
    branch: Branch = None,
    storage_option: StorageOptions = None,
) -> Any:
    """List the zone maps of a file, its own and those beside it.

    Of a table, sum up the zone maps of its data files.
    """
    found = _target(target, storage_option, version, branch)
    return view("targets").zones_of(found, columns=_split(columns))


@zones_app.command("build", epilog=EPILOG)
def zones_build(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Lance files, as for other commands.")],
    columns: Columns = None,
    rows_per_zone: Annotated[int | None, typer.Option(min=1, help="Rows of a zone; default: 8192.")] = None,
    storage_option: StorageOptions = None,
) -> Any:
    """Write zone maps beside files that have none.

    Later scans with a filter skip rows by them.
    """
    for file in files:
        target = _target(file, storage_option)
        view("targets").check_is_file(target, command="zones build", instead="name data files of")
    return view("zone_commands").build_reports(
        files,
        columns=_split(columns),
        rows_per_zone=rows_per_zone,
        storage_options=parse_storage_options(storage_option),
    )


@app.command(epilog=EPILOG)
def verify(
    target: Target, version: Version = None, branch: Branch = None, storage_option: StorageOptions = None
) -> Any:
    """Compare checksums and decode every page of a file or table.

    Of a table, check also that the data files and deletion files of the version exist, with the sizes and row counts of
    the manifest. The exit code is 1 if anything is wrong.
    """
    return view("verify_command").verify_target(_target(target, storage_option, version, branch))


@app.command(epilog=EPILOG)
def demo(
    engine: Annotated[
        str, typer.Option(help="Reader of the CSV: spark, pyarrow, or auto (Spark if it can run, which needs Java 17).")
    ] = "auto",
    keep: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="New or empty folder for the files; they stay there.")
    ] = None,
) -> Any:
    """Ingest real flights from CSV into a Lance table, query and change it, with a receipt of what was read."""
    if engine not in ("auto", "spark", "pyarrow"):
        raise InvalidArgumentError(f"engine is {engine!r}, expected auto, spark or pyarrow", detail=engine)
    # Imported now, by name: it needs the native bridge, the other commands do not.
    flights = importlib.import_module("lance_arrow.demo.flights")
    plan = flights.plan(None if engine == "auto" else engine)
    for note in plan.notes:
        print(to_printable(f"note: {note}"), file=sys.stderr)
    title = f"Ingesting flights.csv.bz2 with {'Spark' if plan.engine == 'spark' else 'pyarrow'}"
    with view("progress").progress(title, "bytes") as on_progress:
        return flights.run(keep, on_progress=on_progress, engine=plan)


add_advise_command(app)
add_convert_commands(app)
add_explain_command(app)
add_salvage_command(app)
add_sql_command(app)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return the exit code.

    Parameters
    ----------
    arguments
        Without the program's name. ``--json`` and ``--wide`` may stand anywhere before a ``--``.
    """
    arguments, as_json = _take_flag(arguments, _JSON_FLAG)
    arguments, is_wide = _take_flag(arguments, _WIDE_FLAG)
    try:
        code = _run_json(arguments) if as_json else _run_text(arguments, is_wide)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader is gone (`| head`); the interpreter must not stumble over it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO_READER
    return code


def _run_text(arguments: Sequence[str], is_wide: bool) -> int:
    report, code, printed = _report(arguments)
    if code == INTERRUPTED:
        return code
    sys.stdout.write(printed)
    if isinstance(report, ErrorReport):
        _say(report)
    elif report is not None:
        print_text(report, sys.stdout, is_wide=is_wide)
    return code


def _run_json(arguments: Sequence[str]) -> int:
    report, code, printed = _report(arguments)
    if report is None:
        report = HelpReport(help=printed)
    else:
        # A plugin's chatter must not stand beside the document.
        sys.stderr.write(printed)
    if isinstance(report, ErrorReport):
        _say(report)
    if code != INTERRUPTED:
        print_json(report, sys.stdout)
    return code


def _report(arguments: Sequence[str]) -> tuple[Any, int, str]:
    """Run the command: its report, the exit code, and what was printed meanwhile (help, a plugin's chatter).

    The report is None when help was printed or the user interrupted. Nothing goes to stdout before the command is done:
    a broken pipe while it runs is one of a filesystem, hence a failure, and Typer would end the process for it.
    """
    command = typer.main.get_command(app)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        report, code = _outcome(command, arguments)
    return report, code, printed.getvalue()


def _outcome(command: Any, arguments: Sequence[str]) -> tuple[Any, int]:
    streams = sys.stdout, sys.stderr
    try:
        result = command.main(args=list(arguments), prog_name="lance-arrow", standalone_mode=False)
    except typer.Abort:
        return None, INTERRUPTED
    except UsageError as error:
        return ErrorReport(type="UsageError", message=_usage(error)), WRONG_USAGE
    except SystemExit as stop:
        # Typer takes every broken pipe for one of stdout, wraps both streams and exits.
        sys.stdout, sys.stderr = streams
        if not isinstance(stop.__context__, OSError):
            raise
        return error_report(stop.__context__), FAILED
    # The last stop of every failure: filesystems and plugins are foreign code and raise what they like.
    except Exception as error:  # noqa: BLE001
        return error_report(error), FAILED
    if isinstance(result, int):
        return None, result
    # Only reports of what was verified or salvaged say whether all is well.
    return result, DONE if getattr(result, "ok", True) else FAILED


def _usage(error: Any) -> str:
    """What is wrong with the arguments, and where it is said which are right."""
    command = "lance-arrow" if error.ctx is None else error.ctx.command_path
    options = getattr(error, "possibilities", None)
    message = error.message if options else error.format_message()
    meant = f"; did you mean {' or '.join(options)}?" if options else ""
    return f"{message.rstrip('.')}{meant}{advice(error)} (see {command} --help)"


def _say(report: ErrorReport) -> None:
    print(to_printable(f"lance-arrow: {report}"), file=sys.stderr)


def _take_flag(arguments: Sequence[str], flag: str) -> tuple[list[str], bool]:
    """Remove a flag of all commands before they are parsed: wrong usage must be reported as JSON, too."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept = [argument for argument in arguments[:end] if argument != flag]
    return [*kept, *arguments[end:]], len(kept) < end


def _split(columns: Sequence[str] | None) -> list[str] | None:
    return [name for item in columns for name in item.split(",")] if columns else None


def _target(
    uri: str, storage_options: Sequence[str] | None, version: str | None = None, branch: str | None = None
) -> Any:
    return view("targets").Target(
        uri=uri, storage_options=parse_storage_options(storage_options), version=version, branch=branch
    )
