"""Building blocks for layouts: pages of chunks, of zipped entries, of one scalar, whatever message describes them.

In: a form (what a description says) and the scope; out: a `BoundLayout` or a `LoadedPage`. Layouts of the format share
these, and a third party's may. Open `chunked.py` or `zipped.py` first. Forbidden here: description messages, hooks.
"""

from lance_arrow.spi.pages.chunked import ChunkedForm, ChunkedPages, bind_chunked, bind_levels
from lance_arrow.spi.pages.loaded_chunks import DictionaryPage, IndexPage
from lance_arrow.spi.pages.native_pages import value_bits
from lance_arrow.spi.pages.repeated import RepeatedPage, fits
from lance_arrow.spi.pages.zipped import ZippedForm, ZippedPages, bind_zipped

__all__ = [
    "ChunkedForm",
    "ChunkedPages",
    "DictionaryPage",
    "IndexPage",
    "RepeatedPage",
    "ZippedForm",
    "ZippedPages",
    "bind_chunked",
    "bind_levels",
    "bind_zipped",
    "fits",
    "value_bits",
]
