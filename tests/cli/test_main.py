"""The command as a process: without its extra, interrupted, and with a reader that goes away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

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
        "plugin_view.view_plugins = lambda: (print('ready', file=sys.stderr, flush=True), time.sleep(60));"
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
