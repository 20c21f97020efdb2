"""Run a command for which Python 3.11 is one for Linux on aarch64, on an x86-64 machine.

`python .ci/aarch64.py FOLDER COMMAND ...`, as root on Debian with the packages debootstrap, qemu-user-static and
g++-aarch64-linux-gnu. FOLDER keeps a small Debian for aarch64, made the first time. Its Python is emulated; CMake and
the compiler are not, and compile for it. The command is `python .ci/wheels.py ...`: see docs/releasing.md.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from environments import run

PYTHON = "python3.11"
DEBIAN = "bookworm"  # which has that Python
TOOLCHAIN = """\
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# Debian keeps Python's headers that depend on the processor in another folder, behind the compiler's own.
set(CMAKE_CXX_FLAGS_INIT "-idirafter {system}/usr/include")
"""


def check_machine() -> None:
    """Stop unless what is needed is here."""
    missing = [name for name in ("debootstrap", "aarch64-linux-gnu-g++") if shutil.which(name) is None]
    if missing:
        raise SystemExit(f"not installed: {', '.join(missing)}")
    if not Path("/proc/sys/fs/binfmt_misc/qemu-aarch64").exists():
        raise SystemExit("programs for aarch64 do not start here: register qemu-aarch64-static with binfmt_misc")


def emulated_python(home: Path) -> Path:
    """Return the Python of the system in `home`; make that system if there is none."""
    system = home / "debian"
    if not system.exists():
        unfinished = home / "unfinished"
        if unfinished.exists():
            raise SystemExit(f"{unfinished} is left from a run that was stopped: unmount its proc and remove it")
        # debootstrap does not see that distutils provides what venv depends on.
        packages = f"{PYTHON}-dev,{PYTHON}-venv,python3-distutils"
        run("debootstrap", "--arch=arm64", "--variant=minbase", f"--include={packages}", DEBIAN, unfinished)
        unfinished.rename(system)
    return system / "usr" / "bin" / PYTHON


def main() -> None:
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    home = Path(sys.argv[1]).resolve()
    check_machine()
    python = emulated_python(home)
    system = python.parents[2]
    toolchain = home / "toolchain.cmake"
    toolchain.write_text(TOOLCHAIN.format(system=system), encoding="utf-8")
    of_emulation = {
        "CI_PYTHON": str(python),
        "QEMU_LD_PREFIX": str(system),
        "CMAKE_TOOLCHAIN_FILE": str(toolchain),
    }
    raise SystemExit(subprocess.run(sys.argv[2:], env=os.environ | of_emulation, check=False).returncode)


if __name__ == "__main__":
    main()
