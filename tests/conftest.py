"""Fixtures of all rooms: the witness, and the receipts of reads."""

from __future__ import annotations

import functools
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import everyday
import pytest
from hypothesis import settings
from rewriting import rewrite_share
from witness import Witness

from lance_arrow.runtime import default_runtime
from lance_arrow.spi import ReadReport, hookimpl, loading

# Times are compared in benchmarks, never asserted: a busy machine is no failure. What a commit passes once it passes
# again; `--hypothesis-profile=drawn` draws other examples each time.
settings.register_profile("drawn", deadline=None, derandomize=False)
settings.register_profile("whole", deadline=None, derandomize=True)
settings.register_profile("everyday", deadline=None, derandomize=True, max_examples=40)


def pytest_addoption(parser: pytest.Parser) -> None:
    everyday.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("whole" if config.getoption("whole") else "everyday")


def pytest_collection(session: pytest.Session) -> None:
    # Few files that are named need few of the modules.
    here = Path(__file__).parent
    if [Path(one).resolve() for one in session.config.args] == [here]:
        rewrite_share(session.config, here)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    everyday.leave_out(config, items)
    # The groups of one worker take longest.
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)


def pytest_collection_finish() -> None:
    """Leave what was collected out of garbage collections: tests ask for hundreds, each would take half a second."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object | None:
    if config.getoption("dist") != "loadgroup":
        return None
    from sharing import FilesInParts  # noqa: PLC0415 - needs pytest-xdist

    return FilesInParts(config, log)


@pytest.fixture(autouse=True, scope="session")
def _installed_looked_up_once() -> Iterator[None]:
    """Look up what is installed once for each search path: tests make thousands of runtimes, each 3 ms for this."""
    look_up = loading.entry_points
    found = functools.cache(lambda path: look_up())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "entry_points", lambda: found(tuple(sys.path)))
        yield


@pytest.fixture(scope="session")
def whole_run(pytestconfig: pytest.Config) -> bool:
    """Whether everything runs, as `nox -s whole` has it, or the share of every day."""
    return bool(pytestconfig.getoption("whole"))


@pytest.fixture(scope="session")
def witness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Witness]:
    """The reference package in a subprocess of this pytest worker."""
    if Witness.version() is None:
        reason = "the reference package (pylance) is not installed: nothing here was compared with it"
        if os.environ.get("LANCE_ARROW_REQUIRE_REFERENCE"):
            pytest.fail(reason)
        pytest.skip(reason)
    found = Witness(tmp_path_factory.mktemp("witness"))
    yield found
    found.close()


class Receipts:
    """A plugin that keeps every receipt."""

    def __init__(self) -> None:
        self.reports: list[ReadReport] = []

    @hookimpl
    def lance_read_finished(self, report: ReadReport) -> None:
        self.reports.append(report)


@pytest.fixture
def receipts() -> Iterator[list[ReadReport]]:
    """Receipts of the reads that finish in the default runtime while the test runs."""
    plugin = Receipts()
    manager = default_runtime().plugins.manager
    manager.register(plugin)
    yield plugin.reports
    manager.unregister(plugin)
