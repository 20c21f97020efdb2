"""The build of the native bridge for a pyarrow; nothing is loaded, pyarrow neither."""

from __future__ import annotations

from pathlib import Path

from lance_arrow.arrow_dataset import bridge as _package
from lance_arrow.libarrow.builds import built_releases, choose_build


def installed_build(version: str) -> Path:
    """Return the installed build for a pyarrow; version and errors are those of `choose_build`."""
    return choose_build(built_releases(_package.__path__, "_bridge"), version)
