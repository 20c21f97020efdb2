"""Loads `_expressions`, which reads, binds and evaluates expressions of Arrow: pyarrow first, then the build for it.

Raises ImportError where there is none. It needs neither pyarrow.dataset nor pandas, which that imports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow
import pyarrow.compute

from lance_arrow import libarrow as _package
from lance_arrow.libarrow.builds import built_releases, choose_build, load

__all__ = ["native_expressions"]

if TYPE_CHECKING:
    from lance_arrow.libarrow import _expressions as native_expressions
else:
    native_expressions = load(
        "lance_arrow.libarrow._expressions",
        choose_build(built_releases(_package.__path__, "_expressions"), pyarrow.__version__),
    )
