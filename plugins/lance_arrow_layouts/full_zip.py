"""Full-zip pages: one entry after the other, each with its levels and its value, for values too large for chunks.

    buffer 0   entries: [control word: levels] [length, when widths vary] [value]
    buffer 1   row index: where each row begins, when rows have no common width

Here is the description only; `lance_arrow.spi.pages` reads the entries.
Source: lance.encodings21.FullZipLayout; spec 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow.proto.encodings_v21_pb2 import PageLayout
from lance_arrow.spi import BindScope, EncodingKey, hookimpl
from lance_arrow.spi.pages import ZippedForm, ZippedPages, bind_zipped


@dataclass(frozen=True, slots=True)
class FullZip:
    """Reads `PageLayout.full_zip_layout`."""

    key = EncodingKey("lance.encodings21.PageLayout", "full_zip_layout")
    message_type = PageLayout

    def bind(self, message: Any, scope: BindScope) -> ZippedPages:
        """Take the form from the message."""
        details = message.WhichOneof("details")
        form = ZippedForm(
            layers=scope.layers(message.layers),
            values=message.value_compression,
            bits_rep=message.bits_rep,
            bits_def=message.bits_def,
            value_bits=message.bits_per_value if details == "bits_per_value" else None,
            length_bits=message.bits_per_offset if details == "bits_per_offset" else None,
            num_entries=message.num_items,
            num_values=message.num_visible_items,
        )
        return bind_zipped(form, scope)


@hookimpl
def lance_provide_layouts() -> list[FullZip]:
    return [FullZip()]
