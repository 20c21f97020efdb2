"""Runs of rows to level entries and values, over chunks that are cut anywhere, with gaps between them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy_kernels import levels as twin

from lance_arrow import kernels
from lance_arrow.errors import CorruptPageError, InternalError, LanceError

BOTH = pytest.mark.parametrize("module", [kernels, twin], ids=["native", "twin"])


def select(module, rep, def_, max_rep, max_visible, chunks, runs):
    arrays = [np.array(one, np.int64) for one in (*chunks, *runs)]
    outs = [np.full(len(runs[0]), -1, np.int64) for _ in range(4)]
    try:
        module.select_rows(rep, def_, max_rep, max_visible, *arrays, *outs)
    except LanceError as error:
        return type(error)
    return [tuple(one) for one in np.array(outs).T.tolist()]


# Rows: [a b] | [c d e] | null | [f] ; chunks: a b c | d e null | f
REP = np.array([1, 0, 1, 0, 0, 1, 1], np.uint16)
DEF = np.array([0, 0, 0, 0, 0, 1, 0], np.uint16)
CHUNKS = ([0, 3, 6, 7], [0, 3, 5, 6], [0, 2, 3], [2, 1, 1])


@BOTH
def test_rows_across_chunks(module):
    assert select(module, REP, DEF, 1, 0, CHUNKS, ([0], [4])) == [(0, 7, 0, 6)]
    assert select(module, REP, DEF, 1, 0, CHUNKS, ([1], [2])) == [(2, 5, 2, 5)]
    assert select(module, REP, DEF, 1, 0, CHUNKS, ([0, 2, 3], [1, 3, 4])) == [(0, 2, 0, 2), (5, 6, 5, 5), (6, 7, 5, 6)]
    assert select(module, REP, DEF, 1, 0, CHUNKS, ([], [])) == []


@BOTH
def test_rows_of_chunks_with_a_gap(module):
    # Without chunk 0, chunk 1 begins with the rest of row 1; without chunk 1, row 1 has no end.
    last_two = ([0, 3, 4], [0, 2, 3], [2, 3], [1, 1])
    assert select(module, REP[3:], DEF[3:], 1, 0, last_two, ([2], [4])) == [(2, 4, 2, 3)]
    outer = (REP[[0, 1, 2, 6]], DEF[[0, 1, 2, 6]], 1, 0, ([0, 3, 4], [0, 3, 4], [0, 3], [2, 1]))
    assert select(module, *outer, ([0, 3], [1, 4])) == [(0, 2, 0, 2), (3, 4, 3, 4)]
    for runs in (([2], [3]), ([1], [3]), ([0], [4]), ([3], [5]), ([4], [5])):
        assert select(module, *outer, runs) is InternalError


@BOTH
def test_repetition_index_and_value_counts_are_put_to_the_test(module):
    starts, values, first, rows = CHUNKS
    for chunks in (
        (starts, values, [0, 3, 4], [3, 1, 1]),
        (starts, values, [0, 1, 2], [1, 1, 1]),
        (starts, [0, 3, 6, 7], first, rows),
        (starts, [0, 2, 4, 5], first, rows),
    ):
        assert select(module, REP, DEF, 1, 0, chunks, ([0], [1])) is CorruptPageError
    assert select(module, REP + 1, DEF, 1, 0, CHUNKS, ([0], [1])) is CorruptPageError


@BOTH
def test_callers_mistakes_are_internal(module):
    good = (REP, DEF, 1, 0)
    starts, values, first, rows = CHUNKS
    wrong = [
        (*good, ([0, 3, 6, 8], values, first, rows), ([0], [1])),
        (*good, ([0, 3, 2, 7], values, first, rows), ([0], [1])),
        (*good, (starts, values, [0, 1, 3], rows), ([0], [1])),
        (*good, CHUNKS, ([1], [1])),
        (*good, CHUNKS, ([1, 0], [2, 1])),
        (*good, CHUNKS, ([0, 1], [2, 3])),
        (REP, DEF[1:], 1, 0, CHUNKS, ([0], [1])),
        (*good, (starts[1:], values, first, rows), ([0], [1])),
        (*good, CHUNKS, ([0], [1, 2])),
        (REP, DEF, 0, 0, CHUNKS, ([0], [1])),
    ]
    for arguments in wrong:
        assert select(module, *arguments) is InternalError


def check_open(module, rep, starts, before, after, max_rep=1):
    try:
        module.check_open_rows(rep, max_rep, *(np.array(one, np.int64) for one in (starts, before, after)))
    except LanceError as error:
        return type(error)
    return None


@BOTH
def test_rows_that_chunks_leave_open(module):
    # Chunks a b c | d e null | f: the first leaves row 1 open with one entry.
    good = ([0, 3, 6, 7], [0, 1, 0], [1, 0, 0])
    assert check_open(module, REP, *good) is None
    assert check_open(module, REP[3:5], [0, 2], [1], [2]) is None
    for before, after in (
        ([1, 1, 0], [1, 0, 0]),
        ([0, 0, 0], [1, 0, 0]),
        ([0, 1, 1], [1, 0, 0]),
        ([0, 1, 0], [2, 0, 0]),
        ([0, 1, 0], [3, 0, 0]),
        ([0, 1, 0], [4, 0, 0]),
        ([0, 1, 0], [-1, 0, 0]),
        ([0, 1, 0], [1, 2, 0]),
        ([0, 1, 0], [1, 3, 0]),
    ):
        assert check_open(module, REP, good[0], before, after) is CorruptPageError
    assert check_open(module, REP, [0, 0, 7], [0, 0], [0, 0]) is CorruptPageError
    for starts in ([0, 3, 6, 8], [0, 3, 2, 7], [0, 3, 6]):
        assert check_open(module, REP, starts, *good[1:]) is InternalError
    assert check_open(module, REP, *good, max_rep=0) is InternalError


@st.composite
def pages(draw):
    """A page of rows, cut into chunks, some of which are left out."""
    sizes = draw(st.lists(st.sampled_from([1, 1, 2, 5, 70]), min_size=1, max_size=12))
    rep = np.concatenate([[2, *draw(st.lists(st.integers(0, 1), min_size=n - 1, max_size=n - 1))] for n in sizes])
    def_ = np.array(draw(st.lists(st.integers(0, 3), min_size=len(rep), max_size=len(rep))), np.uint16)
    cuts = sorted(draw(st.sets(st.integers(1, len(rep) - 1), max_size=6))) if len(rep) > 1 else []
    borders = [0, *cuts, len(rep)]
    kept = draw(st.lists(st.booleans(), min_size=len(borders) - 1, max_size=len(borders) - 1))
    return rep.astype(np.uint16), def_, borders, kept, len(sizes)


@given(pages(), st.sets(st.integers(0, 12), max_size=8), st.booleans())
def test_runs_agree_with_the_twin_and_with_the_whole_page(page, picked, has_def):
    rep, def_, borders, kept, num_rows = page
    edges = sorted(edge for edge in picked if edge <= num_rows)
    edges = edges[: len(edges) // 2 * 2]
    runs = (edges[::2], edges[1::2])
    def_ = def_ if has_def else None
    chunks, places = ([0], [0], [], []), []
    for (start, stop), keep in zip(pairwise(borders), kept, strict=True):
        if keep:
            visible = stop - start if def_ is None else int((def_[start:stop] <= 1).sum())
            chunks[0].append(chunks[0][-1] + stop - start)
            chunks[1].append(chunks[1][-1] + visible)
            chunks[2].append(int((rep[:start] == 2).sum()))
            chunks[3].append(int((rep[start:stop] == 2).sum()))
            places += range(start, stop)
    assume(places)
    held = (rep[places], None if def_ is None else def_[places], 2, 1, chunks, runs)
    got = select(kernels, *held)
    assert got == select(twin, *held)
    row_starts = [*np.flatnonzero(rep == 2).tolist(), len(rep)]
    wanted = [list(range(row_starts[start], row_starts[stop])) for start, stop in zip(*runs, strict=True)]
    if all(set(one) <= set(places) for one in wanted):
        assert [places[start:stop] for start, stop, _, _ in got] == wanted
        own = range(len(places)) if def_ is None else np.flatnonzero(def_[places] <= 1).tolist()
        for start, stop, value_start, value_stop in got:
            assert [entry for entry in own if start <= entry < stop] == list(own[value_start:value_stop])
