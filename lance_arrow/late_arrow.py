"""Parts of pyarrow that are imported when they are first used.

| Name | Module | Why late |
|---|---|---|
| `pc` | `pyarrow.compute` | it makes 300 functions when it is imported |
| `arrow_fs` | `pyarrow.fs` | it loads the clients of object stores |
| `pads` | `pyarrow.dataset` | it imports pandas where it is installed |

Reading a local file without a filter needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_arrow.late_names import late_module

__all__ = ["arrow_fs", "pads", "pc"]

if TYPE_CHECKING:
    import pyarrow.compute as pc
    import pyarrow.dataset as pads
    from pyarrow import fs as arrow_fs
else:
    pc = late_module("pyarrow.compute")
    arrow_fs = late_module("pyarrow.fs")
    pads = late_module("pyarrow.dataset")
