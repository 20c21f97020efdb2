"""Column options to try: the default, compressions, and each installed codec and layout that writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from lance_arrow.runtime import Runtime
from lance_arrow.spi import COMPRESSIVE, PRIVATE_CODEC

Options = dict[str, Any]
_FORMAT_LAYOUTS = ("mini_block", "full_zip")
_FORMAT_MESSAGES = ("lance.encodings", "lance_arrow.legacy")


def candidates(runtime: Runtime) -> Iterator[Options]:
    """Yield the options that files of the format can have, the default first."""
    yield {}
    for compression in ("none", "lz4", "zstd"):
        yield {"compression": compression}
    for key, provided in runtime.table.codecs.items():
        # `general` is a compression, which is tried by its name.
        if key.message == COMPRESSIVE and key.case != "general" and getattr(provided.factory, "writes", None):
            yield {"codec": key.case}
    for layout in _FORMAT_LAYOUTS:
        yield {"layout": layout}


def private_candidates(runtime: Runtime, type_: pa.DataType | None = None) -> Iterator[Options]:
    """Yield the options of installed codecs and layouts that are not of the format.

    Pages tell the width of values alone, so a codec that lists the dtype of the column gets it as an option.
    """
    dtype = None if type_ is None or not pa.types.is_primitive(type_) else str(type_).replace("halffloat", "float16")
    dtype = {"float": "float32", "double": "float64"}.get(str(dtype), dtype)
    for key, provided in runtime.table.codecs.items():
        if key.message == PRIVATE_CODEC and getattr(provided.factory, "writes", None):
            told = {"dtype": dtype} if dtype in getattr(provided.factory, "dtypes", ()) else {}
            yield {"codec": key.case, **told}
    for key, provided in runtime.table.layouts.items():
        if hasattr(provided.factory, "encode") and not key.message.startswith(_FORMAT_MESSAGES):
            yield {"layout": key.message}
