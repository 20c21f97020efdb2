"""Mini-block pages: values in chunks of a few KiB, each with its own levels; chunks are read whole, pages are not.

    buffer 0   chunk table: one word per chunk (bytes, number of values)
    buffer 1   chunks: [levels | sizes | rep | def | value buffers], each part padded to 8 bytes
    buffer 2   dictionary items, when the chunks hold indices
    last       repetition index, when there are lists: rows that finish in each chunk, levels left over

A read finds the chunks of the wanted rows (`index`), opens all of them with one call per codec (`chunks`), and selects
the runs of values that were wanted (`pages`); chunks that are wanted whole go straight to the destination.

Source: lance.encodings21.MiniBlockLayout.
"""

from lance_arrow.spi import hookimpl
from lance_arrow_layouts.mini_block.layout import MiniBlock


@hookimpl
def lance_provide_layouts():
    return [MiniBlock()]
