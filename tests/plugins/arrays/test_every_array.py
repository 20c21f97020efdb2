"""Each array encoding that is installed has a suite in this folder, and each case of the format is read or refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from suites import suites_beside

from lance_arrow.errors import UnknownEncodingError
from lance_arrow.proto import encodings_v20_pb2, legacy_pb2
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow.spi import EncodingKey, FixedWidth, LeafType
from lance_arrow.spi.arrays import ARRAY, LEGACY
from lance_arrow.spi.loading import entry_points
from lance_arrow.testing.array_suite import ArraySuite

HERE = Path(__file__).parent
RUNTIME = Runtime(Settings())
CASES = {
    EncodingKey(ARRAY, case): encodings_v20_pb2.ArrayEncoding
    for case in encodings_v20_pb2.ArrayEncoding.DESCRIPTOR.fields_by_name
} | {EncodingKey(LEGACY, case): legacy_pb2.LegacyPage for case in legacy_pb2.LegacyPage.DESCRIPTOR.fields_by_name}
# Pages of 2.1 drafts alone held them: `layout.drafts` reads these.
OF_DRAFTS = {
    "inline_bitpacking",
    "out_of_line_bitpacking",
    "variable",
    "packed_struct_fixed_width_mini_block",
    "block",
    "rle",
    "general_mini_block",
    "byte_stream_split",
}


TESTED = {suite.key for suite in suites_beside(__file__, ArraySuite)}


def test_every_entry_point_has_a_suite() -> None:
    points = {point.name for point in entry_points() if point.name.startswith(("codec.v20.", "codec.v01."))}
    provided = {key: one.plugin.name for key, one in RUNTIME.table.arrays.items()}
    ours = {key for key, name in provided.items() if name in points}
    assert {provided[key] for key in ours} == points
    assert ours == TESTED


@pytest.mark.parametrize("key", CASES, ids=str)
def test_each_case_is_read_or_refused_by_name(key: EncodingKey) -> None:
    assert (key in TESTED) == (key.case not in OF_DRAFTS)
    if key in TESTED:
        return
    description = CASES[key]()
    getattr(description, str(key.case)).SetInParent()
    with pytest.raises(UnknownEncodingError, match=f"{key.message}/{key.case}"):
        RUNTIME.binder.scope(LeafType(FixedWidth(32))).array(description)
