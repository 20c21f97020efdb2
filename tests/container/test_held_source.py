"""`OverlaySource`: what is held is not read again, what is not is read as ever."""

from __future__ import annotations

import numpy as np
import pytest

from lance_arrow.errors import TruncatedReadError
from lance_arrow.io import BufferSource, MeteredSource, read_coalesced
from lance_arrow.io.overlay_source import OverlaySource

DATA = bytes(range(200))


@pytest.fixture
def inner() -> MeteredSource:
    return MeteredSource(BufferSource(DATA))


def read(source: OverlaySource, *places: tuple[int, int]) -> list[bytes]:
    wanted = np.array(places, np.int64)
    return [one.tobytes() for one in read_coalesced(source, wanted[:, 0], wanted[:, 1])]


def test_what_is_held_is_not_read(inner: MeteredSource) -> None:
    source = OverlaySource(inner, 150, np.frombuffer(DATA, np.uint8)[150:])
    source.hold(np.array([10, 160, 60]), np.array([40, 170, 60]))
    assert inner.snapshot().ranges_wanted == 1
    before = inner.snapshot()
    assert read(source, (10, 40), (20, 21), (150, 200), (199, 200)) == [
        DATA[10:40],
        DATA[20:21],
        DATA[150:],
        DATA[199:],
    ]
    assert (inner.snapshot() - before).requests == 0
    data, positions = source.read_arena(np.array([30, 150]), np.array([35, 152]))
    assert [data[start : start + 2].tolist() for start in positions] == [[30, 31], [150, 151]]
    assert (inner.snapshot() - before).requests == 0


def test_what_is_not_held_is_read(inner: MeteredSource) -> None:
    source = OverlaySource(inner, 150, np.frombuffer(DATA, np.uint8)[150:])
    assert source.size() == 200
    assert read(source, (140, 160), (155, 160), (3, 5)) == [DATA[140:160], DATA[155:160], DATA[3:5]]
    assert inner.snapshot().ranges_wanted == 2
    source.hold(np.array([3]), np.array([5]))
    source.let_go()
    before = inner.snapshot()
    assert read(source, (3, 5)) == [DATA[3:5]]
    assert (inner.snapshot() - before).requests == 1
    with pytest.raises(TruncatedReadError):
        source.read(np.array([190]), np.array([201]))
