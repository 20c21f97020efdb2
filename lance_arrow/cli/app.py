"""Parsing of the command line and exit codes, nothing else: each command returns a report, `run` prints it.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted, 141 nobody reads the output any more.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from lance_arrow.assembly.zone_types import DEFAULT_ROWS_PER_ZONE
from lance_arrow.cli import convert_render, table_render  # noqa: F401 - teach how their reports are printed
from lance_arrow.cli.convert_commands import add_convert_commands
from lance_arrow.cli.file_view import FileReport, HeadReport, SchemaReport, view_file, view_head, view_schema
from lance_arrow.cli.plugin_view import MatrixReport, PluginsReport, view_matrix, view_plugins
from lance_arrow.cli.printing import to_printable
from lance_arrow.cli.progress import progress
from lance_arrow.cli.render import ErrorReport, HelpReport, error_report, print_json, print_text
from lance_arrow.cli.stats_view import StatsReport, ZonesReport, view_stats, view_zones
from lance_arrow.cli.table_commands import table_app
from lance_arrow.cli.zone_commands import BuiltReport, build_reports
from lance_arrow.datasets.verifying import VerifyReport
from lance_arrow.datasets.verifying import verify as verify_file
from lance_arrow.errors import InvalidArgumentError

DONE, FAILED, WRONG_USAGE, INTERRUPTED, NO_READER = 0, 1, 2, 130, 141
_JSON_FLAG = "--json"
_EPILOG = "--json, before or after the command: print exactly one JSON document."
# Typer brings its own copy of click, or used to bring click itself; both derive their usage errors from one class.
_UsageError: Any = typer.BadParameter.__base__

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Look into Lance files.",
    epilog=_EPILOG,
)
zones_app = typer.Typer(rich_markup_mode=None, help="Zone maps: bounds of runs of rows, by which scans skip.")
app.add_typer(zones_app, name="zones", epilog=_EPILOG)
app.add_typer(table_app, name="table", epilog=_EPILOG)
add_convert_commands(app)
File = Annotated[str, typer.Argument(metavar="FILE", help="Local path, or any URL that fsspec opens.")]
Columns = Annotated[
    list[str] | None, typer.Option("--columns", "-c", metavar="A,B.C", help="Dotted paths; all when not given.")
]


@app.callback()
def root() -> None:
    """Look into Lance files."""


@app.command(epilog=_EPILOG)
def inspect(file: File, columns: Columns = None) -> FileReport:
    """Show footer, columns, pages, encodings and sizes; decodes nothing."""
    return view_file(file, columns=_split(columns))


@app.command(epilog=_EPILOG)
def schema(file: File) -> SchemaReport:
    """Show the Arrow schema with its metadata."""
    return view_schema(file)


@app.command(epilog=_EPILOG)
def head(
    file: File,
    num_rows: Annotated[int, typer.Option("-n", "--rows", min=0, help="How many rows.")] = 10,
    columns: Columns = None,
) -> HeadReport:
    """Show the first rows."""
    return view_head(file, num_rows=num_rows, columns=_split(columns))


@app.command(epilog=_EPILOG)
def stats(file: File, columns: Columns = None) -> StatsReport:
    """Show nulls, bounds, bytes and codecs of each column: from zone maps, else from the values."""
    return view_stats(file, columns=_split(columns))


@zones_app.command("show", epilog=_EPILOG)
def zones_show(
    file: File,
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", metavar="A,B.C", help="Dotted paths whose zones are listed, one by one."),
    ] = None,
) -> ZonesReport:
    """Show which columns have zone maps, in the file or beside it."""
    return view_zones(file, columns=_split(columns))


@zones_app.command("build", epilog=_EPILOG)
def zones_build(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files, as for other commands.")],
    columns: Columns = None,
    rows_per_zone: Annotated[int, typer.Option(min=1, help="Rows of a zone.")] = DEFAULT_ROWS_PER_ZONE,
) -> BuiltReport:
    """Write zone maps beside files that have none; later scans use them."""
    return build_reports(files, columns=_split(columns), rows_per_zone=rows_per_zone)


@app.command(epilog=_EPILOG)
def verify(file: File) -> VerifyReport:
    """Compare a whole file with its checksums and decode every page; exit 1 when something is wrong."""
    return verify_file(file)


@app.command(epilog=_EPILOG)
def plugins(
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Where each codec is read, and since which file version it is written.")
    ] = False,
) -> PluginsReport | MatrixReport:
    """List the installed encodings, which one is in use, and what is broken."""
    return view_matrix() if matrix else view_plugins()


@app.command(epilog=_EPILOG)
def demo(
    engine: Annotated[
        str, typer.Option(help="What reads the CSV: spark, pyarrow, or auto: Spark where there is Java.")
    ] = "auto",
) -> Any:
    """Ingest real flights from CSV into a Lance table, query and change it, with a receipt of what was read."""
    if engine not in ("auto", "spark", "pyarrow"):
        raise InvalidArgumentError(f"engine is {engine!r}, expected auto, spark or pyarrow", detail=engine)
    # Imported now, by name: it needs the native bridge, the other commands do not.
    flights = importlib.import_module("lance_arrow.demo.flights")
    with progress("Ingesting flights.csv.gz", "bytes") as on_progress:
        return flights.run(on_progress=on_progress, engine=None if engine == "auto" else engine)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return the exit code.

    Parameters
    ----------
    arguments
        Without the program's name. ``--json`` may stand anywhere before a ``--``.
    """
    arguments, as_json = _take_json_flag(arguments)
    try:
        code = _run_json(arguments) if as_json else _run_text(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader is gone (`| head`); the interpreter must not stumble over it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO_READER
    return code


def _run_text(arguments: Sequence[str]) -> int:
    report, code = _report(arguments)
    if isinstance(report, ErrorReport):
        _say(report)
    elif report is not None:
        print_text(report, sys.stdout)
    return code


def _run_json(arguments: Sequence[str]) -> int:
    # Whatever else is printed (help, a plugin's chatter) must not stand beside the document.
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        report, code = _report(arguments)
    if report is None:
        report = HelpReport(help=printed.getvalue())
    else:
        sys.stderr.write(printed.getvalue())
    if isinstance(report, ErrorReport):
        _say(report)
    if code != INTERRUPTED:
        print_json(report, sys.stdout)
    return code


def _report(arguments: Sequence[str]) -> tuple[Any, int]:
    """Run the command; the report is None when help was printed or the user interrupted."""
    command = typer.main.get_command(app)
    try:
        result = command.main(args=list(arguments), prog_name="lance-arrow", standalone_mode=False)
    except typer.Abort:
        return None, INTERRUPTED
    except _UsageError as error:
        message = f"{error.format_message().rstrip('.')} (see lance-arrow --help)"
        return ErrorReport(type="UsageError", message=message), WRONG_USAGE
    # The last stop of every failure: filesystems and plugins are foreign code and raise what they like.
    except Exception as error:  # noqa: BLE001
        return error_report(error), FAILED
    if isinstance(result, VerifyReport):
        return result, DONE if result.ok else FAILED
    return (None, result) if isinstance(result, int) else (result, DONE)


def _say(report: ErrorReport) -> None:
    print(to_printable(f"lance-arrow: {report}"), file=sys.stderr)


def _take_json_flag(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """Remove ``--json`` before it is parsed: wrong usage must be reported as JSON, too."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept = [argument for argument in arguments[:end] if argument != _JSON_FLAG]
    return [*kept, *arguments[end:]], len(kept) < end


def _split(columns: Sequence[str] | None) -> list[str] | None:
    return [name for item in columns for name in item.split(",")] if columns else None
