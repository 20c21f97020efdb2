"""The command as a process: without its extra, interrupted, and with a reader that goes away."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import lance_arrow

MODULE = [sys.executable, "-m", "lance_arrow.cli"]
MAIN = "from lance_arrow.cli.__main__ import main; main()"


def run_python(code: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


def test_without_the_extra(tmp_path: Path) -> None:
    hide = (
        "import importlib.util as u, sys; find = u.find_spec;"
        "u.find_spec = lambda name, package=None: None if name in ('typer', 'rich') else find(name, package);"
        "sys.modules.update(typer=None, rich=None);"
    )
    for arguments in ([], ["plugins", "--json"]):
        done = run_python(hide + MAIN, *arguments, folder=tmp_path)
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert "pip install 'lance-arrow[cli]'" in done.stderr


def test_module_runs(tmp_path: Path) -> None:
    done = subprocess.run(
        [*MODULE, "schema", "missing.lance"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"lance-arrow: No such file or directory [file '{tmp_path / 'missing.lance'}']\n"


def test_interrupted_process(tmp_path: Path) -> None:
    # Who runs tests in the background may have them ignore interrupts.
    wait = (
        "import signal, sys, time; from lance_arrow.cli import plugin_view;"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"
        "plugin_view.view_plugins = lambda: "
        "(print('ready', file=sys.stderr, flush=True), *(time.sleep(0.1) for _ in range(600)));"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", wait + MAIN, "plugins"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "")


def test_reader_goes_away(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as closed:
        done = subprocess.run(
            [*MODULE, "plugins"],
            stdout=closed,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, "")


@pytest.fixture(scope="module")
def many_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose rows are far more text than a pipe holds."""
    path = tmp_path_factory.mktemp("pipe") / "many.lance"
    lance_arrow.write_table(pa.table({"id": range(20_000), "word": [f"word {row}" for row in range(20_000)]}), path)
    return path


@pytest.mark.cover(1)
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("flag", ["", "--json"], ids=["text", "json"])
def test_head_in_a_pipe_ends_with_141_when_the_reader_leaves(many_rows: Path, flag: str, unbuffered: str) -> None:
    line = f"{shlex.join(MODULE)} head -n 20000 {shlex.quote(str(many_rows))} {flag} | head -n 1"
    done = in_bash(line, PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (141, "")
    assert done.stdout.count("\n") == 1


def test_output_that_a_pipe_holds_ends_with_0_before_anybody_reads(many_rows: Path) -> None:
    with subprocess.Popen([*MODULE, "head", str(many_rows)], stdout=subprocess.PIPE, text=True) as process:
        assert process.wait(timeout=60) == 0
        assert process.stdout is not None
        assert process.stdout.readline() == "id  word\n"


def test_help_and_versions_without_a_reader() -> None:
    for arguments in ("--help", "head --help", "--version"):
        read_end, write_end = os.pipe()
        os.close(read_end)
        with os.fdopen(write_end, "w") as closed:
            done = subprocess.run(
                [*MODULE, *arguments.split()], stdout=closed, stderr=subprocess.PIPE, text=True, timeout=60, check=False
            )
        assert (done.returncode, done.stderr) == (141, ""), arguments


def in_bash(line: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a line in a shell that ends with the code of the first program which failed."""
    environment = {**os.environ, **variables}
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


SLEEPY = """
import importlib, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)

def sleep_in(module, owner, name, call=1):
    owner = getattr(importlib.import_module(module), owner)
    original, calls = getattr(owner, name), []
    def sleepy(*args, **options):
        calls.append(1)
        if len(calls) == call:
            print("ready", file=sys.stderr, flush=True)
            # A signal that comes just before a sleep begins is seen when that sleep ends.
            for _ in range(600):
                time.sleep(0.1)
        return original(*args, **options)
    setattr(owner, name, sleepy)

"""


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (["head"], "'lance_arrow.files.lance_file', 'LanceFile', 'take'"),
        (["stats"], "'lance_arrow.statistics.zone_builder', 'ZoneBuilder', 'add', 3"),
        (["verify"], "'lance_arrow.files.verification', '_Verification', '_decode', 2"),
        (["zones", "build"], "'lance_arrow.statistics.zone_builder', 'ZoneBuilder', 'add', 2"),
        (["table", "compact"], "'lance_arrow.table.writable_branch', 'WritableBranch', 'commit'"),
    ],
    ids=["head", "stats", "verify", "zones build", "table compact"],
)
def test_interrupted_in_the_middle(tmp_path: Path, arguments: list[str], place: str) -> None:
    """The command sleeps in the middle of its work, is interrupted, ends with 130 and has left everything as it was."""
    target = tmp_path / "data"
    rows = pa.table({"id": range(3000), "word": [f"word {row}" for row in range(3000)]})
    if arguments[0] in ("table", "verify", "stats"):
        # Of fragments with deleted rows, values are read.
        lance_arrow.LanceTable.create(target, rows, max_rows_per_file=1000).delete("id % 1000 = 0")
    else:
        lance_arrow.write_table(rows, target, rows_per_zone=None)
    before = files_of(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-c", f"{SLEEPY}sleep_in({place})\n{MAIN}", *arguments, str(target)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "")
    assert files_of(tmp_path) == before


def files_of(folder: Path) -> dict[str, bytes]:
    """All files below a folder, with their content."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_versions() -> None:
    text = subprocess.run([*MODULE, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    first, second = text.splitlines()
    assert (
        first == f"lance-arrow {importlib.metadata.version('lance-arrow')}" == f"lance-arrow {lance_arrow.__version__}"
    )
    assert second == f"Python {platform.python_version()}, pyarrow {pa.__version__}, native bridge fits"
    document = json.loads(subprocess.run([*MODULE, "--json", "--version"], capture_output=True, check=True).stdout)
    assert document == {
        "lance_arrow": lance_arrow.__version__,
        "python": platform.python_version(),
        "pyarrow": pa.__version__,
        "bridge_fits": True,
        "bridge_problem": None,
    }


def test_a_bridge_that_does_not_fit_is_told(tmp_path: Path) -> None:
    pyarrow = (
        "from importlib import metadata; known = metadata.version\n"
        "metadata.version = lambda name: '1.2.3' if name == 'pyarrow' else known(name)\n"
    )
    for flags in ([], ["--json"]):
        done = run_python(pyarrow + MAIN, "--version", *flags, folder=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert "found 1.2.3: " in done.stdout


@pytest.mark.parametrize(
    "arguments", ["schema FILE", "head FILE", "stats FILE", "inspect FILE", "head TABLE", "--help"]
)
def test_commands_do_not_import_the_rooms_of_others(many_rows: Path, tmp_path: Path, arguments: str) -> None:
    lance_arrow.LanceTable.create(tmp_path / "table", pa.table({"a": [1]}))
    line = arguments.replace("FILE", str(many_rows)).replace("TABLE", str(tmp_path / "table"))
    listing = (
        "import sys; from lance_arrow.cli.app import run; code = run(sys.argv[1:]); print(*sys.modules, sep='\\n')"
    )
    done = run_python(listing, *line.split(), folder=tmp_path)
    assert done.returncode == 0
    modules = set(done.stdout.splitlines())
    needless = {"rich", "pandas", "pyarrow.dataset"}
    assert not modules & needless
    assert not modules & {
        "lance_arrow.files.zone_building",
        "lance_arrow.files.verification",
    }
    assert not {one for one in modules if one.startswith(("lance_arrow_codecs_v01.", "lance_arrow_codecs_v20."))}
    if "TABLE" not in arguments:
        assert "lance_arrow.table" not in modules
    if "help" in arguments:
        assert not modules & {"pyarrow", "numpy", "fsspec"}
