"""Metadata of columns, parsed natively: what protobuf's own parser finds in the same bytes, damaged or not."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import DecodeError

from lance_arrow.engine import CHECKSUM_FAULT, read_column_metadata, read_columns_at_hand
from lance_arrow.errors import InternalError
from lance_arrow.kernels import crc32c
from lance_arrow.proto.file_v2_pb2 import ColumnMetadata, DeferredEncoding, DirectEncoding, Encoding

FILE_SIZE = 1 << 20
MALFORMED, UNPAIRED, OUTSIDE, MISALIGNED, TOO_MANY_ROWS, NO_DESCRIPTION = range(1, 7)
# Groups are deprecated since before the format was there: protobuf passes over unknown ones, and no one writes them.
_GROUPS = (3, 4)


def read(message: ColumnMetadata | bytes, *, file_size: int = FILE_SIZE, alignment: int = 64) -> tuple[Any, ...]:
    data = message if isinstance(message, bytes) else message.SerializeToString()
    places = np.array([0]), np.array([len(data)])
    return read_column_metadata(np.frombuffer(data, np.uint8), *places, file_size, alignment, None, lambda _: None)[0]


def described(data: bytes = b"what") -> Encoding:
    return Encoding(direct=DirectEncoding(encoding=data))


def column(*pages: ColumnMetadata.Page, **fields: Any) -> ColumnMetadata:
    return ColumnMetadata(**{"encoding": described(), "pages": pages, **fields})


def page(*buffers: tuple[int, int], length: int = 3, encoding: Encoding | None = None) -> ColumnMetadata.Page:
    offsets, sizes = [one[0] for one in buffers], [one[1] for one in buffers]
    return ColumnMetadata.Page(
        buffer_offsets=offsets, buffer_sizes=sizes, length=length, encoding=encoding or described(b"page")
    )


def told(found: tuple[Any, ...]) -> dict[str, Any]:
    """What was read, without arrays."""
    fault, own, starts, sizes, pages_fault, (row_starts, borders, offsets, lengths, descriptions, of_page) = found
    assert fault is None
    return {
        "own": own,
        "buffers": list(zip(starts, sizes, strict=True)),
        "fault": pages_fault,
        "pages": [
            (
                stop - start,
                list(zip(offsets[first:last].tolist(), lengths[first:last].tolist(), strict=True)),
                descriptions[which],
            )
            for start, stop, first, last, which in zip(
                row_starts[:-1].tolist(),
                row_starts[1:].tolist(),
                borders[:-1].tolist(),
                borders[1:].tolist(),
                of_page.tolist(),
                strict=True,
            )
        ],
    }


def test_pages_buffers_and_descriptions() -> None:
    apart = Encoding(indirect=DeferredEncoding(buffer_location=70, buffer_length=8))
    message = column(
        page((0, 10), (64, 5)),
        page(length=0),
        page((128, 0), encoding=described(b"other")),
        page((192, 1), length=2**62),
        page(encoding=apart),
        buffer_offsets=[1, 2],
        buffer_sizes=[3, FILE_SIZE - 2],
    )
    assert told(read(message)) == {
        "own": b"what",
        "buffers": [(1, 3), (2, FILE_SIZE - 2)],
        "fault": None,
        "pages": [
            (3, [(0, 10), (64, 5)], b"page"),
            (0, [], b"page"),
            (3, [(128, 0)], b"other"),
            (2**62, [(192, 1)], b"page"),
            (3, [], (70, 8)),
        ],
    }
    assert read(message)[5][4] == [b"page", b"other", (70, 8)]
    assert told(read(b"\x0a\x02\x12\x00"))["own"] == b""


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (b"\x12", (MALFORMED, -1, 0, 0, 0)),
        (b"\x0a\x02\x12\x00\x12\x02\x0a\x01", (MALFORMED, -1, 6, 0, 0)),
        (ColumnMetadata(), (NO_DESCRIPTION, -1, 0, 0, 0)),
        (ColumnMetadata(encoding=Encoding(none={})), (NO_DESCRIPTION, -1, 3, 0, 0)),
        (b"\x0a\x03\xba\x01\x00", (NO_DESCRIPTION, -1, 23, 0, 0)),
        (column(buffer_offsets=[1]), (UNPAIRED, -1, 1, 0, 0)),
        (column(buffer_offsets=[9, 2**64 - 1], buffer_sizes=[0, 2]), (OUTSIDE, -1, 1, 2**64 - 1, 2)),
    ],
)
def test_faults_of_columns(message: ColumnMetadata | bytes, fault: tuple[int, ...]) -> None:
    assert read(message)[0] == fault


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (page((0, FILE_SIZE + 1)), (OUTSIDE, 1, 0, 0, FILE_SIZE + 1)),
        (page((0, 1), (2**63, 2**63)), (OUTSIDE, 1, 1, 2**63, 2**63)),
        (page((0, 1), (65, 1)), (MISALIGNED, 1, 1, 65, 1)),
        (page(length=2**63 - 3), (TOO_MANY_ROWS, 1, 3, 2**63 - 3, 0)),
        (ColumnMetadata.Page(buffer_sizes=[1], encoding=described()), (UNPAIRED, 1, 0, 1, 0)),
        (ColumnMetadata.Page(length=1), (NO_DESCRIPTION, 1, 0, 0, 0)),
    ],
)
def test_faults_of_pages(bad: ColumnMetadata.Page, fault: tuple[int, ...]) -> None:
    found = told(read(column(page(), bad, page())))
    assert found["fault"] == fault
    assert len(found["pages"]) == 1


def test_a_field_that_comes_again_is_merged() -> None:
    once = ColumnMetadata(encoding=described(b"first")).SerializeToString()
    again = ColumnMetadata(encoding=described(b"second")).SerializeToString()
    empty = b"\x0a\x02\x12\x00"
    apart = Encoding(indirect=DeferredEncoding(buffer_location=7, buffer_length=8))
    elsewhere = ColumnMetadata(encoding=apart).SerializeToString()
    for data in (
        once + again,
        once + empty,
        once + elsewhere,
        elsewhere + once,
        elsewhere + b"\x0a\x04\x0a\x02\x08\x01",
    ):
        assert told(read(data))["own"] == expected(data)["own"]


def expected(data: bytes) -> dict[str, Any]:
    """What protobuf's parser finds."""
    message = ColumnMetadata.FromString(data)

    def of(encoding: Encoding) -> bytes | tuple[int, int] | None:
        case = encoding.WhichOneof("location")
        if case == "indirect":
            return encoding.indirect.buffer_location, encoding.indirect.buffer_length
        return encoding.direct.encoding if case == "direct" else None

    return {
        "own": of(message.encoding),
        "buffers": list(zip(message.buffer_offsets, message.buffer_sizes, strict=False)),
        "pages": [
            (one.length, list(zip(one.buffer_offsets, one.buffer_sizes, strict=False)), of(one.encoding))
            for one in message.pages
        ],
    }


def test_damaged_messages_are_what_protobuf_finds_in_them() -> None:
    rng = random.Random(20)
    good = [
        column(page((0, 10), (64, 5)), page((128, 900)), buffer_offsets=[1], buffer_sizes=[3]),
        column(*(page((64 * one, one), encoding=described(bytes([one % 3]) * 40)) for one in range(30))),
        column(page(encoding=Encoding(indirect=DeferredEncoding(buffer_location=70, buffer_length=8)))),
    ]
    outcomes = {"same": 0, "refused": 0}
    for number in range(20_000):
        data = bytearray(good[number % len(good)].SerializeToString())
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(data))
            match rng.randrange(3):
                case 0:
                    data[at] ^= 1 << rng.randrange(8)
                case 1:
                    del data[at : at + rng.randint(1, 4)]
                case _:
                    data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 3)))
            if not data:
                data = bytearray(b"\x00")
        found = read(bytes(data), file_size=2**63, alignment=1)
        try:
            wanted = expected(bytes(data))
        except DecodeError:
            assert found[0] is not None
            assert found[0][0] == MALFORMED
            outcomes["refused"] += 1
            continue
        if found[0] is not None:
            if found[0][0] == MALFORMED:
                assert any(byte & 7 in _GROUPS for byte in data)
            continue
        mine = told(found)
        fault = mine.pop("fault")
        if fault is not None:
            wanted["pages"] = wanted["pages"][: fault[1]]
        assert mine == wanted
        outcomes["same"] += fault is None
    assert min(outcomes.values()) > 1000


def _comparable(found: list[tuple[Any, ...]]) -> list[Any]:
    return [told(one) if one[0] is None else one for one in found]


def _ended(messages: list[bytes], before: bytes) -> tuple[np.ndarray[Any, Any], bytes, bytes]:
    """A tail of messages, the table of their places in a file, and their checksums."""
    starts = FILE_SIZE - np.cumsum([len(one) for one in messages[::-1]])[::-1]
    table = np.array([(start, len(one)) for start, one in zip(starts.tolist(), messages, strict=True)], "<u8")
    sums = np.array([crc32c(np.frombuffer(one, np.uint8)) for one in messages], "<u4")
    return np.frombuffer(before + b"".join(messages), np.uint8), table.tobytes(), sums.tobytes()


@pytest.mark.parametrize("has_sums", [False, True])
def test_columns_at_the_end_of_a_file_are_those_of_their_messages(has_sums: bool) -> None:
    messages = [column(page((64 * number, 9)), page((128, number))).SerializeToString() for number in range(5)]
    messages[3] = b""
    tail, table, sums = _ended(messages, b"before")
    wanted = [4, 0, 3, 0]
    found = read_columns_at_hand(tail, table, wanted, 1 << 20, FILE_SIZE, 64, sums if has_sums else b"", bytes)
    assert found is not None
    parsed, places = found
    apart = [read_column_metadata(tail, *_place(tail, messages, one), FILE_SIZE, 64, None, bytes)[0] for one in wanted]
    assert _comparable(parsed) == _comparable(apart)
    entries = np.frombuffer(table, "<u8").reshape(-1, 2).tolist()
    assert places == [(entries[one][0], sum(entries[one])) for one in wanted]


def _place(tail: np.ndarray[Any, Any], messages: list[bytes], number: int) -> tuple[Any, Any]:
    start = len(tail) - sum(len(one) for one in messages[number:])
    return np.array([start]), np.array([start + len(messages[number])])


def test_a_message_before_the_end_of_a_file_or_too_large_is_not_at_hand() -> None:
    messages = [column(page((0, 9))).SerializeToString(), column(page((64, 9))).SerializeToString()]
    tail, table, sums = _ended(messages, b"")
    size = len(messages[0])

    def read_from(tail: np.ndarray[Any, Any], columns: list[int], most_bytes: int = 1 << 20) -> object:
        return read_columns_at_hand(tail, table, columns, most_bytes, FILE_SIZE, 64, sums, bytes)

    assert read_from(tail, [0, 1], size) is not None
    assert read_from(tail, [0, 1], size - 1) is None
    assert read_from(tail[1:], [1]) is not None
    assert read_from(tail[1:], [1, 0]) is None
    wrong = np.frombuffer(table, "<u8").copy()
    for place, value in ((0, 1 << 63), (1, 1 << 63), (0, FILE_SIZE + 1), (1, FILE_SIZE)):
        wrong[:] = np.frombuffer(table, "<u8")
        wrong[place] = value
        assert read_columns_at_hand(tail, wrong.tobytes(), [0], 1 << 62, FILE_SIZE, 64, sums, bytes) is None


def test_a_message_that_contradicts_its_checksum_is_a_fault() -> None:
    tail, table, sums = _ended([column().SerializeToString(), column(page((0, 9))).SerializeToString()], b"")
    damaged = tail.copy()
    damaged[-1] ^= 1
    found = read_columns_at_hand(damaged, table, [0, 1], 1 << 20, FILE_SIZE, 64, sums, bytes)
    assert found is not None
    assert [one[0] for one in found[0]] == [None, (CHECKSUM_FAULT, -1, 0, 0, 0)]


@pytest.mark.parametrize("wrong", ["a column too many", "a negative one", "sums of fewer", "a tail above the file"])
def test_arguments_that_contradict_each_other_are_refused(wrong: str) -> None:
    tail, table, sums = _ended([column().SerializeToString()], b"")
    columns = {"a column too many": [1], "a negative one": [-1]}.get(wrong, [0])
    file_size = len(tail) - 1 if wrong == "a tail above the file" else FILE_SIZE
    with pytest.raises(InternalError):
        read_columns_at_hand(tail, table, columns, 99, file_size, 64, sums[1:] if "fewer" in wrong else sums, bytes)
