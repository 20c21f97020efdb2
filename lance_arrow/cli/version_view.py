"""Installed versions: lance_arrow, Python, pyarrow, and whether the native bridge supports that pyarrow."""

from __future__ import annotations

import importlib
import platform
from dataclasses import dataclass

import pyarrow

import lance_arrow


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionsReport:
    """Versions of what takes part in reading.

    Parameters
    ----------
    lance_arrow, python, pyarrow
        Versions.
    bridge_fits
        Whether the native bridge to `pyarrow.dataset` can be loaded.
    bridge_problem
        Why not; None when it can.
    """

    lance_arrow: str
    python: str
    pyarrow: str
    bridge_fits: bool
    bridge_problem: str | None


def view_versions() -> VersionsReport:
    """Report the versions; the bridge is loaded, which is the only way to know that it can be."""
    problem: str | None = None
    try:
        importlib.import_module("lance_arrow.arrow_dataset.bridge.loading")
    except ImportError as error:
        problem = str(error)
    return VersionsReport(
        lance_arrow=lance_arrow.__version__,
        python=platform.python_version(),
        pyarrow=pyarrow.__version__,
        bridge_fits=problem is None,
        bridge_problem=problem,
    )
