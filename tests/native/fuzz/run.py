"""Builds fuzz targets with clang and runs them with libFuzzer: `python run.py --home FOLDER --runs 1000000 lz4 levels`.

Without names, all targets run but `files`, which reads whole files with the package and needs a build of it that
libFuzzer watches. Corpora and inputs that failed are kept in the folder.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
DECODERS = tuple(sorted(path.stem for path in HERE.glob("*.cpp") if path.stem not in ("python_driver", "replay")))
FILES = "files"


def build(folder: Path, targets: list[str]) -> None:
    """Build targets with libFuzzer, ASan and UBSan."""
    options = ("-DLANCE_ARROW_FUZZ=ON", "-DCMAKE_CXX_COMPILER=clang++")
    subprocess.run(["cmake", "-G", "Ninja", "-S", str(HERE.parent), "-B", str(folder), *options], check=True)
    names = [f"fuzz_{target}" for target in targets]
    subprocess.run(["cmake", "--build", str(folder), "--target", *names], check=True)


def _library(compiler: str, name: str) -> str:
    """Return the path of a library that the compiler has."""
    found = subprocess.run([compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True)
    return str(Path(found.stdout.strip()).resolve())


def fuzz(home: Path, target: str, runs: int) -> int:
    """Run one target; return the exit code of libFuzzer."""
    corpus = home / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    options = [f"-runs={runs}", "-timeout=60", "-rss_limit_mb=4096", f"-artifact_prefix={home}/{target}-"]
    if target != FILES:
        command = [str(home / "build" / f"fuzz_{target}"), "-max_len=4096", *options, str(corpus)]
        return subprocess.run([*command, str(home / "seeds" / target)], check=False).returncode
    driver = home / "build" / "libfuzz_files.so"
    # The driver comes first: the runtime has functions of the same names, which do nothing.
    loaded = (driver, _library("clang++", f"libclang_rt.asan-{platform.machine()}.so"), _library("g++", "libstdc++.so"))
    env = {
        **os.environ,
        # So ASan sees each allocation of Python, which leaves memory at its exit.
        "PYTHONMALLOC": "malloc",
        "LD_PRELOAD": " ".join(map(str, loaded)),
        "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    command = [sys.executable, str(HERE / "files.py"), str(driver), str(corpus), "-max_len=8192", *options]
    return subprocess.run(command, env=env, check=False).returncode


def main() -> int:
    """Build and run what is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", help=f"of {', '.join((*DECODERS, FILES))}")
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--home", type=Path, required=True)
    found = parser.parse_args()
    unknown = sorted(set(found.targets) - {*DECODERS, FILES})
    if unknown:
        parser.error(f"no such target: {', '.join(unknown)}; targets: {', '.join((*DECODERS, FILES))}")
    if FILES in found.targets and len(found.targets) > 1:
        parser.error(f"{FILES} runs alone: its build of the package is for libFuzzer only")
    targets, home = found.targets or list(DECODERS), found.home.resolve()
    build(home / "build", targets)
    if set(targets) - {FILES}:
        subprocess.run([sys.executable, str(HERE / "seeds.py"), str(home / "seeds")], check=True)
    failed = [target for target in targets if fuzz(home, target, found.runs) != 0]
    print(f"{len(targets)} targets, {found.runs} inputs each; failed: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
