"""The option of pytest: it collects the kit for one distribution instead of the files that pytest was given."""

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
