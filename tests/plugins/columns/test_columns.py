"""Column encodings: plain values, places of blobs, and zone indices around them."""

from __future__ import annotations

import pytest

from lance_arrow.errors import CorruptFileError, InternalError, LanceError, UnknownEncodingError
from lance_arrow.proto.encodings_v20_pb2 import Blob, Buffer, ColumnEncoding, ZoneIndex
from lance_arrow.runtime import Runtime, default_runtime
from lance_arrow.settings import Settings
from lance_arrow.spi import EncodingKey
from lance_arrow.spi.encoders import ColumnEncoder
from lance_arrow.spi.layouts import BoundColumnEncoding, ZoneMapPlace
from lance_arrow.spi.loading import entry_points, load_plugins


def plain() -> ColumnEncoding:
    column = ColumnEncoding()
    column.values.SetInParent()
    return column


def zoned(
    inner: ColumnEncoding, rows_per_zone: int = 100, buffer: int = 1, place: int = Buffer.column
) -> ColumnEncoding:
    return ColumnEncoding(
        zone_index=ZoneIndex(
            rows_per_zone=rows_per_zone,
            zone_map_buffer=Buffer(buffer_index=buffer, buffer_type=place),
            inner=inner,
        )
    )


def bind(column: ColumnEncoding, num_buffers: int = 2) -> BoundColumnEncoding:
    return default_runtime().binder.column("lance.encodings.ColumnEncoding", column.SerializeToString(), num_buffers)


def test_plain_columns_have_no_zone_map() -> None:
    assert bind(plain(), 0) == BoundColumnEncoding()


def test_zone_index_says_where_its_map_is() -> None:
    assert bind(zoned(plain())) == BoundColumnEncoding(ZoneMapPlace(rows_per_zone=100, column_buffer=1))


@pytest.mark.parametrize(
    "column",
    [
        ColumnEncoding(),
        zoned(ColumnEncoding()),
        zoned(plain(), rows_per_zone=0),
        zoned(plain(), buffer=2),
        zoned(zoned(plain())),
        ColumnEncoding(blob=Blob(inner=ColumnEncoding(blob=Blob(inner=plain())))),
        ColumnEncoding(blob=Blob()),
    ],
    ids=[
        "nothing",
        "nothing inside",
        "zones of no rows",
        "no such buffer",
        "twice",
        "blobs of blobs",
        "blobs of nothing",
    ],
)
def test_contradictions_are_refused(column: ColumnEncoding) -> None:
    with pytest.raises(CorruptFileError):
        bind(column)


@pytest.mark.parametrize("place", [Buffer.page, Buffer.file])
def test_maps_outside_the_column_are_refused(place: int) -> None:
    with pytest.raises(LanceError):
        bind(zoned(plain(), place=place))


def test_blob_columns_hold_descriptors() -> None:
    assert bind(ColumnEncoding(blob=Blob(inner=plain())), 0) == BoundColumnEncoding(holds_descriptors=True)
    place = ZoneMapPlace(rows_per_zone=100, column_buffer=1)
    for column in (zoned(ColumnEncoding(blob=Blob(inner=plain()))), ColumnEncoding(blob=Blob(inner=zoned(plain())))):
        assert bind(column) == BoundColumnEncoding(place, holds_descriptors=True)


def test_what_no_plugin_wraps_is_named() -> None:
    points = [point for point in entry_points() if point.name != "column.blob"]
    binder = Runtime(Settings(), load_plugins(points)).binder
    with pytest.raises(UnknownEncodingError, match="blob"):
        binder.column("lance.encodings.ColumnEncoding", ColumnEncoding(blob=Blob(inner=plain())).SerializeToString(), 0)


def encoder(case: str) -> ColumnEncoder:
    factory = default_runtime().table.column_encoding(EncodingKey("lance.encodings.ColumnEncoding", case))
    assert isinstance(factory, ColumnEncoder)
    return factory


def test_what_is_described_is_bound_again() -> None:
    column = encoder("values").describe(None, None)
    assert bind(column, 0) == BoundColumnEncoding()
    place = ZoneMapPlace(rows_per_zone=8192, column_buffer=1)
    wrapped = encoder("zone_index").describe(column, place)
    assert bind(wrapped) == BoundColumnEncoding(place)
    assert wrapped == zoned(plain(), rows_per_zone=8192)


def test_what_cannot_be_described_is_refused() -> None:
    with pytest.raises(InternalError):
        encoder("values").describe(plain(), None)
    for inner, place in ((None, ZoneMapPlace(1, 0)), (plain(), None)):
        with pytest.raises(InternalError):
            encoder("zone_index").describe(inner, place)
