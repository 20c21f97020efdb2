"""Sessions of native code: sanitizers, unit tests without Python, fuzzing with libFuzzer."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import nox

from sessions.common import ROOT, TEST_EXTRAS, TEST_REQUIREMENTS, WHERE, install

# What is run under sanitizers; tests that count calls or measure memory and time are elsewhere.
SANITIZED = (
    "kernels", "container", "arrays", "scan", "statistics", "pruning", "plugins", "faults", "files", "arrow_dataset",
)  # fmt: skip
SANITIZED_THREADS = (
    "scan/test_noted_pages.py",
    "scan/test_windows.py",
    "arrow_dataset/test_bridge_scan.py",
    "arrow_dataset/test_bridge_dataset.py",
    "pruning/test_file_pruner.py",
)


def _preloaded(session: nox.Session, *libraries: str) -> str:
    """Return what LD_PRELOAD must name: Python itself is not instrumented, so runtimes of GCC must come first."""
    found = []
    for library in libraries:
        path = session.run("g++", f"-print-file-name={library}", external=True, silent=True)
        found.append(str(Path(str(path).strip()).resolve()))
    return " ".join(found)


@nox.session
def sanitize(session: nox.Session) -> None:
    """Test and fuzz a build with ASan and UBSan, or with `-- --threads` scans with TSan.

    `-- kernels files` are some rooms, `-- --minutes 30` fuzzes longer, `-- --every-day` leaves out what is for `whole`.
    """
    if "--threads" in session.posargs:
        _sanitize_threads(session)
        return
    rooms = [room for room in SANITIZED if room in session.posargs]
    whole = [] if "--every-day" in session.posargs else ["--whole"]
    minutes = [one for one in session.posargs if one not in (*SANITIZED, "--every-day")] or ["--minutes", "2"]
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS, sanitizers="address,undefined")
    env = {
        # So ASan sees each allocation of Python.
        "PYTHONMALLOC": "malloc",
        # The interpreter leaves memory at its exit: that is no leak of native code.
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1:hard_rss_limit_mb=6000",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "LD_PRELOAD": _preloaded(session, "libasan.so", "libstdc++.so"),
    }
    session.chdir(ROOT / "tests")
    workers = ["-n", str(min(os.cpu_count() or 1, 4)), "--dist", "loadgroup"]
    # One after the other: a room that fails, or takes an hour, is seen by its name.
    for room in rooms or SANITIZED:
        begun = time.monotonic()
        session.run("pytest", *WHERE, *whole, *workers, room, env=env)
        session.log(f"{room} took {time.monotonic() - begun:.0f} s")
    if rooms:
        return
    session.run("python", "differential/trees.py", "--every", "50", env=env)
    session.run("python", "faults/fuzz.py", *minutes, env=env)


def _sanitize_threads(session: nox.Session) -> None:
    """Run what starts threads in native code under TSan.

    Python and pyarrow are not instrumented: TSan does not see the atomic counters that order their deletions, and
    reports those of every shared pointer. So only what instrumented modules do themselves is reported.
    """
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS, sanitizers="thread")
    env = {
        "LD_PRELOAD": _preloaded(session, "libtsan.so", "libstdc++.so"),
        "TSAN_OPTIONS": "ignore_noninstrumented_modules=1:halt_on_error=1",
    }
    session.chdir(ROOT / "tests")
    # Its shadow memory has fixed places, which random addresses of libraries may take.
    session.run(
        "setarch", "-R", "python", "-m", "pytest", *WHERE, "--whole", *SANITIZED_THREADS, env=env, external=True
    )


def _doctest(session: nox.Session) -> Path:
    """Return a prefix that holds doctest: the system's where it has one, else one unpacked from a Debian package."""
    home = ROOT / ".nox" / "native-tools"
    if Path("/usr/include/doctest/doctest.h").exists() or (home / "usr").exists():
        return home / "usr"
    home.mkdir(parents=True, exist_ok=True)
    with session.chdir(home):
        if shutil.which("apt-get") is None:
            session.error("native_tests needs doctest, a header of C++: install it (Debian: doctest-dev)")
        if os.geteuid() == 0:
            session.run("apt-get", "update", "-qq", external=True)
        session.run("apt-get", "download", "doctest-dev", external=True)
        for package in home.glob("*.deb"):
            session.run("dpkg", "-x", str(package), str(home), external=True)
    return home / "usr"


@nox.session
def native_tests(session: nox.Session) -> None:
    """Test native code without Python, with ASan and UBSan: unit tests, and the seeds of the fuzz targets."""
    install(session, "cli", "cmake>=3.25", "ninja", *TEST_REQUIREMENTS)
    folder, seeds = ROOT / ".nox" / "native-tests", ROOT / ".nox" / "native-seeds"
    prefix = _doctest(session)
    session.run("python", "tests/native/fuzz/seeds.py", str(seeds))
    settings = (f"-DCMAKE_PREFIX_PATH={prefix}", f"-DLANCE_ARROW_SEEDS={seeds}")
    session.run("cmake", "-G", "Ninja", "-S", "tests/native", "-B", str(folder), *settings)
    session.run("cmake", "--build", str(folder))
    session.run("ctest", "--test-dir", str(folder), "--output-on-failure", *session.posargs)


@nox.session
def fuzz_native(session: nox.Session) -> None:
    """Fuzz decoders with libFuzzer: `-- --runs 1000000` is the long form, `-- lz4` one target, `-- files` whole files.

    Needs clang 14 or newer and its runtime (Debian: `apt-get install clang libclang-rt-14-dev`).
    """
    if shutil.which("clang++") is None:
        session.error("fuzz_native needs clang++ 14 or newer, which brings libFuzzer (Debian: apt-get install clang)")
    watched = ""
    if "files" in session.posargs:
        session.env["CXX"], watched = "clang++", "fuzzer-no-link,address,undefined"
    install(session, "cli", "cmake>=3.25", "ninja", *TEST_REQUIREMENTS, sanitizers=watched)
    session.run("python", "tests/native/fuzz/run.py", "--home", str(ROOT / ".nox" / "fuzz-native"), *session.posargs)
