"""Mini-block pages: values in chunks of a few KiB, each with its own levels; chunks are read whole, pages are not.

    buffer 0   chunk table: one word per chunk (bytes, number of values)
    buffer 1   chunks: [levels | sizes | rep | def | value buffers], each part padded to 8 bytes
    buffer 2   dictionary items, when the chunks hold indices
    last       repetition index, when there are lists: rows that finish in each chunk, levels left over

Here is the description only; `lance_arrow.spi.pages` reads the chunks. Source: lance.encodings21.MiniBlockLayout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow.proto.encodings_v21_pb2 import PageLayout
from lance_arrow.spi import BindScope, EncodingKey, hookimpl
from lance_arrow.spi.pages import ChunkedForm, ChunkedPages, bind_chunked


@dataclass(frozen=True, slots=True)
class MiniBlock:
    """Reads `PageLayout.mini_block_layout`."""

    key = EncodingKey("lance.encodings21.PageLayout", "mini_block_layout")
    message_type = PageLayout

    def bind(self, message: Any, scope: BindScope) -> ChunkedPages:
        """Take the form from the message."""
        form = ChunkedForm(
            layers=scope.layers(message.layers),
            values=message.value_compression,
            rep=message.rep_compression if message.HasField("rep_compression") else None,
            def_=message.def_compression if message.HasField("def_compression") else None,
            items=message.dictionary if message.HasField("dictionary") else None,
            num_items=message.num_dictionary_items,
            num_buffers=message.num_buffers,
            index_depth=message.repetition_index_depth,
            num_values=message.num_items,
            large=message.has_large_chunk,
        )
        return bind_chunked(form, scope)


@hookimpl
def lance_provide_layouts() -> list[MiniBlock]:
    return [MiniBlock()]
