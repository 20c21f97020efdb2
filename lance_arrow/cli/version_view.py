"""Installed versions: lance_arrow, Python, pyarrow, and whether the native bridge supports that pyarrow."""

from __future__ import annotations

import importlib.metadata
import platform
from dataclasses import dataclass

import lance_arrow
from lance_arrow.arrow_dataset.bridge.builds import installed_build


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionsReport:
    """Versions of what takes part in reading.

    Parameters
    ----------
    lance_arrow, python, pyarrow
        Versions.
    bridge_fits
        Whether there is a native bridge to `pyarrow.dataset` for this pyarrow.
    bridge_problem
        What is wrong; None when there is one.
    """

    lance_arrow: str
    python: str
    pyarrow: str
    bridge_fits: bool
    bridge_problem: str | None


def view_versions() -> VersionsReport:
    """Report the versions, without loading pyarrow or the bridge: a bridge fits one ``X.Y``, which its name has."""
    problem: str | None = None
    pyarrow = importlib.metadata.version("pyarrow")
    try:
        installed_build(pyarrow)
    except ImportError as error:
        problem = str(error)
    return VersionsReport(
        lance_arrow=lance_arrow.__version__,
        python=platform.python_version(),
        pyarrow=pyarrow,
        bridge_fits=problem is None,
        bridge_problem=problem,
    )
