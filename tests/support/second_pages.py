"""Pages read by the engine and by the second reader, which must agree."""

from __future__ import annotations

from second_reader import second_reader

from lance_arrow.errors import LanceError
from lance_arrow.spi.layouts import PythonLayout, RowRanges
from lance_arrow.testing.layout_suite import LayoutCase, PageRead, bind_case, load_index, open_rows
from lance_arrow.testing.native_pages import difference, native_rows


def second_case(case: LayoutCase) -> PythonLayout:
    """Bind the page for the second reader."""
    layout: PythonLayout = second_reader(bind_case(case))
    return layout


def read_page(case: LayoutCase, rows: RowRanges) -> PageRead:
    """Read rows by both; raises what the second reader raises, if the engine refuses, too."""
    layout = second_case(case)
    native = native_rows(bind_case(case), case, rows)
    try:
        got = open_rows(layout, case, load_index(layout, case), rows)
    except LanceError:
        assert native is None or isinstance(native, str), "only the engine accepts the bytes"
        raise
    assert not isinstance(native, str), f"only the engine refuses: {native}"
    if native is not None:
        assert difference(native, got.levels, got.values(), case) is None
    return got
