"""The table of checksums: its bytes, where it is found, and what is said of files that lost it."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import numpy as np
import pytest
from checksummed import Block, Tail, with_checksums

from lance_arrow.container import checksums
from lance_arrow.container.checksum_writer import ChecksumWriter
from lance_arrow.container.checksums import BufferKind, ChecksumTable, find_table
from lance_arrow.container.file_checks import ByteOwners, FileChecks
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.footer import read_footer
from lance_arrow.container.metadata_bytes import MetadataBytes
from lance_arrow.errors import CorruptFileError, InternalError, InvalidArgumentError, UnsupportedError
from lance_arrow.files.checksum_audit import ChecksumAudit
from lance_arrow.io import BufferSource, MeteredSource
from lance_arrow.kernels import crc32c
from lance_arrow.settings import Limits

DATA = np.random.default_rng(0).integers(0, 256, 1000, dtype=np.uint8)
TAIL = Tail(
    Block(0, b"descriptor"), (Block(0, b"one"), Block(0, b"two")), Block(0, b"c"), Block(0, b"b"), Block(0, b"f")
)


def packed(block_bytes=64):
    writer = ChecksumWriter(block_bytes)
    writer.page_buffer(1, 0, DATA[:100])
    writer.page_buffer(0, 128, DATA[:0])
    writer.column_buffer(0, 128, DATA[100:101])
    writer.global_buffer(1, 192, DATA[200:456])
    writer.placed(448, DATA[500:])
    data = writer.encode(TAIL.told)
    assert len(data) == writer.num_bytes(TAIL.told)
    return np.frombuffer(data, np.uint8)


def with_own_checksum(table):
    table = np.array(table)
    table[8:12] = np.frombuffer(struct.pack("<I", crc32c(table[12:])), np.uint8)
    return table


def test_what_was_written_is_read():
    table = ChecksumTable.parse(packed(), 1024, 5000)
    assert table.block_bytes == 64
    assert table.starts.tolist() == [0, 128, 192, 448]
    assert table.sizes.tolist() == [100, 1, 256, 500]
    assert table.columns.tolist() == [1, 0, checksums.NO_COLUMN, checksums.NO_COLUMN]
    assert [BufferKind(kind) for kind in table.kinds] == list(BufferKind)
    assert table.kinds.tolist() == [0, 1, 2, 3]
    expected = [DATA[0:64], DATA[64:100], DATA[100:101], *np.split(DATA[200:456], 4)]
    expected += np.split(DATA[500:], range(64, 500, 64))
    assert table.crcs.tolist() == [crc32c(block) for block in expected]
    sums = table.metadata
    parts = (b"f", b"descriptor", b"c", b"b", b"one", b"two")
    found = [sums.footer, sums.descriptor, sums.column_table, sums.buffer_table, *sums.columns.tolist()]
    assert found == [crc32c(np.frombuffer(part, np.uint8)) for part in parts]


def test_the_bytes_are_those_of_the_docs():
    table = packed().tobytes()
    assert table[:8] == b"LANCECRC"
    assert struct.unpack_from("<HHIIQI", table, 12) == (1, 0, 64, 4, 15, 2)
    assert struct.unpack_from("<4Q4Q", table, 64) == (0, 128, 192, 448, 100, 1, 256, 500)
    assert len(table) == 64 + 4 * 24 + 2 * 4 + 15 * 4


def test_a_table_knows_its_size():
    data = packed()
    assert ChecksumTable.parse(data, 1024, 5000).num_bytes == len(data)
    assert checksums.announced_bytes(data.tobytes()) == len(data)
    assert checksums.announced_bytes(data[: checksums.HEADER_BYTES].tobytes()) == len(data)
    assert checksums.announced_bytes(data[: checksums.HEADER_BYTES - 1].tobytes()) is None


def test_a_table_without_a_whole_header_is_damaged():
    with pytest.raises(CorruptFileError, match="has 63 bytes, too few") as caught:
        ChecksumTable.parse(packed()[: checksums.HEADER_BYTES - 1], 1024, 5000)
    assert caught.value.byte_range == (1024, 1087)


def test_a_file_without_buffers_has_a_table():
    """It has no column either: a table of no columns and no rows."""
    tail = Tail(Block(0, b"descriptor"), (), Block(0, b"c"), Block(0, b"b"), Block(0, b"f"))
    writer = ChecksumWriter(64)
    data = np.frombuffer(writer.encode(tail.told), np.uint8)
    assert len(data) == writer.num_bytes(tail.told) == checksums.HEADER_BYTES
    table = ChecksumTable.parse(data, 0, 5000)
    assert (len(table.starts), len(table.crcs), len(table.metadata.columns)) == (0, 0, 0)
    assert table.owner(0) is None
    # A sum of no buffer: the table contradicts itself.
    lying = np.concatenate((data, np.zeros(4, np.uint8)))
    lying[24:32] = np.frombuffer(struct.pack("<Q", 1), np.uint8)
    with pytest.raises(CorruptFileError, match="names impossible buffers"):
        ChecksumTable.parse(with_own_checksum(lying), 0, 5000)


def test_owners_are_found_by_position():
    table = ChecksumTable.parse(packed(), 1024, 5000)
    assert [table.owner(position) for position in (0, 99, 100, 128, 129, 192, 948)] == [1, 1, None, 0, None, None, None]


def table_of(starts, sizes, block_bytes):
    places = np.array([starts, sizes], np.int64)
    words = np.zeros(len(starts), np.uint32)
    sums = checksums.MetadataSums(footer=0, descriptor=0, column_table=0, buffer_table=0, columns=words[:0])
    crcs = np.zeros(int((-(-places[1] // block_bytes)).sum()), np.uint32)
    return ChecksumTable(
        block_bytes=block_bytes, starts=places[0], sizes=places[1], columns=words, kinds=words, crcs=crcs, metadata=sums
    )


def test_blocks_may_have_one_byte():
    table = table_of([5], [3], 1)
    assert len(ChecksumTable.parse(np.frombuffer(table.pack(), np.uint8), 0, 5000).crcs) == 3


@pytest.mark.parametrize("block_bytes", [64, 3 << 20, 9 << 20])
def test_waves_are_whole_blocks_of_all_buffers(block_bytes):
    mib = 1 << 20
    table = table_of([10, 20 * mib, 60 * mib, 100 * mib], [20 * mib - 10, 32 * mib, 5, 16 * mib + 1], block_bytes)
    waves = [list(zip(starts.tolist(), stops.tolist(), strict=True)) for starts, stops in table.waves()]
    sizes = [sum(stop - start for start, stop in wave) for wave in waves]
    most = max(1, 8 * mib // block_bytes) * block_bytes
    ranges = [one for wave in waves for one in wave]
    expected = []
    for start, size in zip(table.starts.tolist(), table.sizes.tolist(), strict=True):
        expected += [(first, min(first + most, start + size)) for first in range(start, start + size, most)]
    assert ranges == expected
    assert max(sizes) <= 32 * mib
    # A wave ends where the next range would not have fitted.
    assert all(size + after[0][1] - after[0][0] > 32 * mib for size, after in zip(sizes, waves[1:], strict=False))


def test_a_block_larger_than_a_wave_is_one():
    waves = list(table_of([0, 40 << 20], [40 << 20, 1], 64 << 20).waves())
    assert [(starts.tolist(), stops.tolist()) for starts, stops in waves] == [
        ([0], [40 << 20]), ([40 << 20], [(40 << 20) + 1])
    ]  # fmt: skip


def test_every_flipped_bit_of_a_table_is_noticed():
    good = packed()
    for bit in range(8 * 8, len(good) * 8):
        bad = good.copy()
        bad[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CorruptFileError):
            ChecksumTable.parse(bad, 1024, 5000)


@pytest.mark.parametrize(
    ("offset", "value", "error", "message"),
    [
        (12, struct.pack("<H", 3), UnsupportedError, "version 3"),
        (16, struct.pack("<I", 0), CorruptFileError, "contradicts its counts"),
        (16, struct.pack("<I", 63), CorruptFileError, "impossible"),
        (20, struct.pack("<I", 5), CorruptFileError, "contradicts its counts"),
        (24, struct.pack("<Q", 2**62), CorruptFileError, "contradicts its counts"),
        (64, struct.pack("<Q", 2**63), CorruptFileError, "impossible"),
        (64 + 8, struct.pack("<Q", 50), CorruptFileError, "impossible"),
        (64 + 24, struct.pack("<Q", 4999), CorruptFileError, "impossible"),
        (64 + 32, struct.pack("<Q", 0), CorruptFileError, "impossible"),
        (64 + 56, struct.pack("<Q", 2**63 + 500), CorruptFileError, "impossible"),
    ],
)
def test_tables_that_lie_are_refused(offset, value, error, message):
    table = packed().copy()
    table[offset : offset + len(value)] = np.frombuffer(value, np.uint8)
    with pytest.raises(error, match=message):
        ChecksumTable.parse(with_own_checksum(table), 1024, 5000)


def test_a_buffer_may_end_where_the_file_does():
    table = packed()
    assert ChecksumTable.parse(table, 1024, 948).sizes[-1] == 500
    with pytest.raises(CorruptFileError, match="impossible"):
        ChecksumTable.parse(table, 1024, 947)


@pytest.mark.parametrize(("num_blocks", "version"), [(65536, 1), (65537, 2)])
def test_a_table_has_its_sums_of_blocks_apart_above_256_kib(num_blocks, version):
    writer = ChecksumWriter(64)
    writer.page_buffer(0, 0, np.zeros(64 * num_blocks, np.uint8))
    assert struct.unpack_from("<H", writer.encode(TAIL.told), 12) == (version,)


def test_a_buffer_without_bytes_is_impossible():
    """The others have as many blocks as there are checksums."""
    table = packed().copy()
    table[64 + 32 : 64 + 64] = np.frombuffer(struct.pack("<4Q", 128, 0, 256, 513), np.uint8)
    with pytest.raises(CorruptFileError, match="impossible"):
        ChecksumTable.parse(with_own_checksum(table), 1024, 5000)


def test_a_file_of_one_global_buffer_is_asked_for_no_table(plain):
    """It is the descriptor."""
    data = bytearray(plain)
    entry = len(data) - checksums.FOOTER_BYTES - 16
    data[entry : entry + 16] = struct.pack("<2Q", 0, 100)
    data[-16:-12] = struct.pack("<I", 1)
    source = MeteredSource(BufferSource(bytes(data)))
    assert find_table(MetadataBytes(source, Limits())) is None
    assert source.snapshot().requests == 1


def test_what_is_found_checks_all_blocks(plain):
    data, _ = with_checksums(plain)
    source = BufferSource(data)
    metadata = MetadataBytes(source, Limits())
    table, checks = find_table(metadata), FileChecks.find(metadata)
    assert checks.blocks.num_pending == checks.blocks.num_blocks == table.num_blocks == len(table.crcs) > 0


@pytest.mark.parametrize("place", [(1 << 40, 100), (0, 1 << 40), (1, (1 << 64) - 1), (-50, 100)])
def test_a_table_that_would_lie_outside_the_file_is_none(plain, place):
    data = bytearray(plain)
    place = place[0] if place[0] >= 0 else len(data) + place[0], place[1]
    entry = len(data) - checksums.FOOTER_BYTES - 16
    data[entry : entry + 16] = struct.pack("<2Q", *place)
    data[-16:-12] = struct.pack("<I", 2)
    source = MeteredSource(BufferSource(bytes(data)))
    assert find_table(MetadataBytes(source, Limits())) is None
    # Nothing but the end of the file was asked for.
    assert source.snapshot().requests == 1


def test_buffers_must_come_in_order():
    writer = ChecksumWriter()
    writer.page_buffer(0, 64, DATA)
    with pytest.raises(InternalError, match="follows"):
        writer.page_buffer(0, 128, DATA)


@pytest.mark.parametrize("block_bytes", [0, 63, 1 << 32])
def test_strange_block_sizes_are_refused(block_bytes):
    with pytest.raises(InvalidArgumentError, match="blocks of"):
        ChecksumWriter(block_bytes)


@pytest.fixture(scope="module")
def plain(written):
    return (written / "buffers-2.2.lance").read_bytes()


def flipped(data, position, bit=0):
    damaged = bytearray(data)
    damaged[position] ^= 1 << bit
    return bytes(damaged)


def test_files_of_others_have_no_table(plain):
    file = LanceFileReader(BufferSource(plain))
    assert file.checks is None
    assert not file.promises_checksums


def test_a_foreign_global_buffer_costs_at_most_a_look(written):
    source = MeteredSource(BufferSource((written / "wide-2.2.lance").read_bytes()))
    assert find_table(MetadataBytes(source, Limits())) is None
    assert source.snapshot().requests == 1


def test_a_large_foreign_global_buffer_is_not_read(plain):
    """Only its first bytes are, which are not those of a table."""
    data, tail = with_checksums(plain, 256)
    table = tail.table
    assert table.stop - table.position > 64 << 10
    source = MeteredSource(BufferSource(flipped(data, table.position)))
    assert find_table(MetadataBytes(source, Limits(max_metadata_bytes=64 << 10))) is None
    assert source.snapshot().bytes_fetched < table.stop - table.position


@pytest.mark.parametrize(("size", "num_bytes"), [(1 << 20, 1 << 20), ((1 << 20) + 1, len(checksums.MAGIC))])
def test_a_foreign_global_buffer_above_one_mib_costs_its_first_bytes(plain, size, num_bytes):
    data = bytearray(plain)
    entry = len(data) - checksums.FOOTER_BYTES - 16
    data[entry : entry + 16] = struct.pack("<2Q", 1 << 20, size)
    source = MeteredSource(BufferSource(bytes(data)))
    metadata = MetadataBytes(source, Limits())
    before = source.snapshot().bytes_fetched
    assert find_table(metadata) is None
    assert source.snapshot().bytes_fetched - before == num_bytes


def test_a_file_too_small_for_a_table_has_none():
    source = BufferSource(bytes(checksums.FOOTER_BYTES + 15))
    assert find_table(MetadataBytes(source, Limits())) is None


@pytest.mark.parametrize("verify", ["touched", "full", "off"])
def test_a_file_with_checksums_opens(plain, verify):
    data, tail = with_checksums(plain)
    file = LanceFileReader(BufferSource(data), verify=verify)
    assert file.promises_checksums
    assert (file.checks is None) == (verify == "off")
    if file.checks is not None:
        assert file.checks.blocks.num_pending == (0 if verify == "full" else file.checks.blocks.num_blocks)
    assert file.global_buffers.read(3).tobytes() == b"second" * 100
    assert len(file.global_buffers) == 5
    assert file.global_buffers.place(4).start == tail.table.position


def test_unknown_modes_are_refused(plain):
    with pytest.raises(InvalidArgumentError, match="'touched' or 'full' or 'off'"):
        LanceFileReader(BufferSource(plain), verify="all")


def test_small_files_open_with_one_request(written):
    data, _ = with_checksums((written / "three-2.2.lance").read_bytes())
    source = MeteredSource(BufferSource(data))
    LanceFileReader(source).columns([0, 1])
    assert source.snapshot().requests == 1


def test_a_table_before_the_tail_costs_one_request(plain):
    # 48 MB in blocks of 256 bytes: a table of some 750 KB.
    data, tail = with_checksums(plain, 256)
    assert tail.table.position < len(data) - (64 << 10)
    source = MeteredSource(BufferSource(data))
    LanceFileReader(source)
    assert source.snapshot().requests == 2


def test_damaged_global_buffers_are_noticed(plain):
    data, _ = with_checksums(plain)
    start = LanceFileReader(BufferSource(data)).global_buffers.place(3).start
    file = LanceFileReader(BufferSource(flipped(data, start + 5)))
    with pytest.raises(CorruptFileError, match="checksum"):
        file.global_buffers.read(3)
    file = LanceFileReader(BufferSource(flipped(data, start + 5)), verify="off")
    assert file.global_buffers.read(3).tobytes() != b"second" * 100


def test_a_lost_table_is_damage_not_absence(written):
    whole = (written / "three-2.2.lance").read_bytes()
    data, tail = with_checksums(whole)
    # Its magic is gone; or the table of global buffers speaks of another place.
    for position in (tail.table.position, tail.buffer_table.stop - 15):
        damaged = flipped(data, position)
        with pytest.raises(CorruptFileError, match="missing"):
            LanceFileReader(BufferSource(damaged))
        assert LanceFileReader(BufferSource(damaged), verify="off").num_rows == 3
    unmarked, tail = with_checksums(whole, mark=False)
    assert LanceFileReader(BufferSource(flipped(unmarked, tail.table.position))).checks is None


def test_a_flipped_version_is_damage_not_the_future(written):
    data, _ = with_checksums((written / "three-2.2.lance").read_bytes())
    for position, bit in ((len(data) - 8, 6), (len(data) - 6, 0), (len(data) - 1, 0)):
        with pytest.raises(CorruptFileError, match="the footer contradicts its checksum"):
            LanceFileReader(BufferSource(flipped(data, position, bit)))


def parts_of(tail):
    """What metadata consists of, and what it is called."""
    return {
        "the footer": tail.footer,
        "the file descriptor": tail.descriptor,
        "the metadata of a column": tail.columns[0],
        "the table of columns": tail.column_table,
        "the table of global buffers": tail.buffer_table,
    }


@pytest.mark.parametrize("name", ["three-2.2.lance", "buffers-2.2.lance"])
def test_damage_of_metadata_is_named_with_its_place(written, name):
    data, tail = with_checksums((written / name).read_bytes())
    for what, block in parts_of(tail).items():
        damaged = BufferSource(flipped(data, block.position + 1))
        with pytest.raises(CorruptFileError) as caught:
            LanceFileReader(damaged).columns([0])
        assert caught.value.message == f"{what} contradicts its checksum"
        assert caught.value.byte_range == (block.position, block.stop)
        found = list(ChecksumAudit(damaged, Limits()).run(None))
        assert found[0].message == f"{what} contradicts its checksum"
        assert found[0].byte_range == (block.position, block.stop)


def test_columns_without_checksums_are_damage(plain):
    metadata = MetadataBytes(BufferSource(with_checksums(plain)[0]), Limits())
    footer = read_footer(metadata.tail, metadata.file_size)
    checks = FileChecks.find(metadata)
    checks.tables(metadata, footer)
    other = SimpleNamespace(
        column_table=footer.column_table, buffer_table=footer.buffer_table, num_columns=footer.num_columns + 1
    )
    with pytest.raises(CorruptFileError, match=f"{footer.num_columns} columns have checksums"):
        checks.tables(metadata, other)


def test_an_audit_compares_every_block_with_its_own_sum(plain, monkeypatch):
    """There are more bytes than are read at once."""
    monkeypatch.setattr(checksums, "_WAVE_BYTES", 4 << 20)
    data, _ = with_checksums(plain)
    table = find_table(MetadataBytes(BufferSource(data), Limits()))
    assert len(list(table.waves())) > 1
    audit = ChecksumAudit(BufferSource(data), Limits())
    assert list(audit.run(LanceFileReader(BufferSource(data)))) == []
    assert (audit.num_blocks, audit.num_bytes) == (table.num_blocks, int(table.sizes.sum()))


def test_neighbours_in_two_buffers_are_two_findings(plain):
    data, _ = with_checksums(plain)
    table = find_table(MetadataBytes(BufferSource(data), Limits()))
    ends = table.starts + table.sizes
    damaged = flipped(flipped(data, int(ends[0]) - 1), int(table.starts[1]))
    # The audit was given no open file, which would tell the column.
    found = list(ChecksumAudit(BufferSource(damaged), Limits()).run(None))
    block = table.block_bytes
    last = int(table.starts[0] + (table.sizes[0] - 1) // block * block)
    places = [(last, int(ends[0])), (int(table.starts[1]), int(min(table.starts[1] + block, ends[1])))]
    assert [one.byte_range for one in found] == places
    assert {one.message for one in found} == {"bytes of the file contradict their checksum"}
    assert {one.column for one in found} == {None}


def test_bytes_of_an_unknown_column_belong_to_nobody(plain):
    table = find_table(MetadataBytes(BufferSource(with_checksums(plain)[0]), Limits()))
    start = int(table.starts[table.columns != checksums.NO_COLUMN][0])
    error = ByteOwners("name", {}, {}).contradiction(table, start, start + 1)
    assert (error.column, error.page, error.path) == (None, None, "name")
    assert error.message == "bytes of the file contradict their checksum"
