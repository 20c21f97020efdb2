"""The conformance kit for an installed distribution: ``pytest -p lance_arrow.testing.kit --lance-arrow-plugin NAME``.

Each codec of the distribution encodes samples by its own writer. The suites of `lance_arrow.testing` read them, damage
them and write files. A suite of the author with an `encode` by hand proves more. It also notices a writer and a reader
that are wrong alike.

| Module | Content |
|---|---|
| `installed` | the codecs and layouts of a distribution, and which shapes they write |
| `written` | `CodecSuite` for what a codec writes itself, and files with its columns |
| `conformance` | the tests that pytest collects |
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

_OPTION = "--lance-arrow-plugin"


def pytest_addoption(parser: Any) -> None:
    """Add the option."""
    parser.getgroup("lance-arrow").addoption(
        _OPTION, metavar="NAME", help="Run the conformance kit on the plugins of the installed distribution NAME."
    )


def pytest_configure(config: Any) -> None:
    """Collect the kit instead of the files that the configuration names."""
    name = config.getoption("lance_arrow_plugin")
    if name is None:
        return
    # Imported now: without the option, pytest starts without the package.
    import pytest  # noqa: PLC0415

    from lance_arrow.errors import LanceError  # noqa: PLC0415
    from lance_arrow.testing.kit.installed import select  # noqa: PLC0415

    try:
        select(name)
    except LanceError as error:
        raise pytest.UsageError(str(error)) from error
    config.args[:] = [str(Path(__file__).parent / "conformance.py")]
