"""Run the demo of the README's first command with Java and without: `python .ci/first_command.py`.

Runs in an environment that holds what that command installed. With Java, Spark must ingest, started in the checkout.
Without, the demo must say so and ingest with pyarrow, started elsewhere. Where there is no Java 17, the first half is
left out; `LANCE_ARROW_REQUIRE_SPARK` makes that a failure. `readme_command` is also used by the session that installs.
"""

from __future__ import annotations

import importlib
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROWS = "51,955 rows"
WITHOUT_JAVA = (
    "note: pyarrow ingests the flights, because Spark cannot run: Spark needs Java 17 or newer, none is on the "
)
SECONDS = 300
_CHANGE_IMPORTS = ("PYTHONPATH", "PYTHONSAFEPATH", "PYTHONSTARTUP")


def readme_command() -> tuple[str, list[str]]:
    """Return what the README's first command tells pip to install, and the command of its demo."""
    block = (ROOT / "README.md").read_text(encoding="utf-8").partition("```sh\n")[2]
    install, _, demo = block.partition("\n")[0].partition(" && ")
    python, dash_m, pip, verb, what = shlex.split(install)
    if (python, dash_m, pip, verb) != ("python", "-m", "pip", "install"):
        raise SystemExit(f"the README's first command is {install!r}, expected one of pip")
    return what, shlex.split(demo)


def run_demo(command: list[str], folder: Path, variables: dict[str, str]) -> list[str]:
    """Run the demo in a folder and return the lines of both its streams, in the order in which they arrived."""
    begun = time.monotonic()
    done = subprocess.run(
        [Path(sys.executable).with_name(command[0]), *command[1:]], cwd=folder, env=variables,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS,
        check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    print(f"in {folder}, {time.monotonic() - begun:.1f} s:", *lines[:2], sep="\n  ", flush=True)
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(command)} failed with code {done.returncode}:\n{done.stdout}")
    return lines


def expect(line: str, *parts: str) -> None:
    """Stop unless the line has all parts."""
    missing = [part for part in parts if part not in line]
    if missing:
        raise SystemExit(f"the demo printed {line!r}, expected {missing[0]!r} in it")


def main() -> None:
    _, command = readme_command()
    variables = {name: value for name, value in os.environ.items() if name not in _CHANGE_IMPORTS}
    # Imported by name: the session that only calls `readme_command` has no lance_arrow.
    reason = importlib.import_module("lance_arrow.spark.environment").why_not_local()
    if reason is None or os.environ.get("LANCE_ARROW_REQUIRE_SPARK"):
        first, *_ = run_demo(command, ROOT, variables)
        expect(first, f"{ROWS} ingested by spark")
    else:
        print(f"Spark is left out: {reason}", flush=True)
    variables.pop("JAVA_HOME", None)
    variables["PATH"] = str(Path(sys.executable).parent)
    with tempfile.TemporaryDirectory() as elsewhere:
        note, first, *_ = run_demo(command, Path(elsewhere), variables)
    expect(note, WITHOUT_JAVA)
    expect(first, f"{ROWS} ingested by pyarrow")


if __name__ == "__main__":
    main()
