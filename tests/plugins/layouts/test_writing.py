"""Pages as layout encoders write them, read back through the layouts that their descriptions bind."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from written_pages import Path, assert_reads, block_of, case_of, content_of, random_rows, written

from lance_arrow.errors import UnsupportedError
from lance_arrow.spi import BlockShape, EncodeOptions, FixedSizeList, FixedWidth, LeafType, PackedStruct, VariableWidth
from lance_arrow.spi.encoders import PageContent, PendingPage
from lance_arrow.spi.layouts import LayerKind, Levels
from lance_arrow.testing.layout_suite import Entry
from lance_arrow.testing.round_trip import encode_scope

VERSIONS = ("2.1", "2.2", "2.3")
VALID, NULLABLE = LayerKind.ALL_VALID_ITEM, LayerKind.NULLABLE_ITEM
LIST, EMPTYABLE = LayerKind.NULL_AND_EMPTY_LIST, LayerKind.EMPTYABLE_LIST
NULLS = Path((NULLABLE,))
FULL_LIST, NULLABLE_LIST = LayerKind.ALL_VALID_LIST, LayerKind.NULLABLE_LIST

# Sparse structures name positions, not kinds: kinds are those that positions of every sort lead to.
PATHS = (
    Path((VALID,)),
    Path((NULLABLE,)),
    Path((NULLABLE, NULLABLE)),
    Path((NULLABLE, LIST)),
    Path((VALID, EMPTYABLE)),
    Path((NULLABLE, LIST, NULLABLE, LIST)),
    Path((NULLABLE, NULLABLE), (0, 3)),
    Path((NULLABLE, LIST, NULLABLE), (0, 0, 2)),
)
DENSE_PATHS = (
    *PATHS,
    Path((VALID, FULL_LIST)),
    Path((VALID, NULLABLE_LIST, EMPTYABLE)),
    Path((NULLABLE, VALID, LIST, VALID, FULL_LIST)),
)


def value_maker(shape: BlockShape):
    if isinstance(shape, VariableWidth):
        return lambda chance: chance.randbytes(chance.choice([0, 1, 3, 9, 40, shape.offset_bits * 9]))
    if shape == FixedWidth(1):
        return lambda chance: bytes([chance.randrange(2)])
    if isinstance(shape, FixedSizeList):
        return lambda chance: chance.randbytes(shape.items_per_value * shape.leaf.bytes_per_value)
    return lambda chance: chance.randrange(100).to_bytes(shape.bytes_per_value, "little")


def few_values(*values: bytes):
    return lambda chance: chance.choice(values)


SHAPES = (
    FixedWidth(1),
    FixedWidth(8),
    FixedWidth(32),
    FixedWidth(64),
    FixedWidth(128),
    FixedSizeList(FixedWidth(16), 3),
    VariableWidth(32),
    VariableWidth(64),
)


@st.composite
def page_kinds(draw):
    version = draw(st.sampled_from(VERSIONS))
    shape = draw(st.sampled_from(SHAPES))
    layout = draw(st.sampled_from([None, "mini_block", "full_zip", "sparse"]))
    if layout == "sparse" and version != "2.3":
        layout = None
    path = draw(st.sampled_from(PATHS if version == "2.3" else DENSE_PATHS))
    return version, shape, layout, path


@given(
    page_kinds(),
    st.integers(0, 2**32),
    st.sampled_from([1, 2, 40, 700]),
    st.sampled_from(["fast", "default", "compact"]),
)
@settings(max_examples=settings.default.max_examples + 20, deadline=None)
def test_any_page_in_any_layout(kind, seed, num_rows, preset):
    version, shape, layout, path = kind
    chance = random.Random(seed)
    # Rows that hold every sort of null, so that positions lead to the same kinds of layers.
    rows = random_rows(path, max(num_rows, 40), chance, value_maker(shape))
    case = written(rows, path, content_of(rows, path, shape), version, EncodeOptions(layout=layout, preset=preset))
    assert_reads(case, chance)


@pytest.mark.cover(1)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("path", [Path((NULLABLE,)), Path((NULLABLE, NULLABLE)), Path((NULLABLE, LIST))])
@pytest.mark.parametrize("shape", [FixedWidth(32), VariableWidth(32), FixedSizeList(FixedWidth(8), 2), FixedWidth(1)])
def test_pages_of_nothing_but_nulls_have_no_values(version, path, shape):
    chance = random.Random(5)
    rows = tuple(
        tuple(Entry(entry.rep, entry.def_ or 1) for entry in row)
        for row in random_rows(path, 500, chance, value_maker(FixedWidth(8)))
    )
    case = written(rows, path, content_of(rows, path, shape), version)
    assert_reads(case, chance)
    message = case.description
    if version == "2.3":
        assert message.values.WhichOneof("plane") == "none"
    else:
        assert message.WhichOneof("layout") == "constant_layout"
    if path.layers == (NULLABLE,):
        assert case.buffers == ()


@pytest.mark.cover(1)
@pytest.mark.parametrize("version", ["2.2", "2.3"])
@pytest.mark.parametrize("path", [Path((VALID,)), Path((NULLABLE,)), Path((NULLABLE, LIST))])
@pytest.mark.parametrize(
    ("shape", "value"),
    [
        (FixedWidth(1), b"\1"),
        (FixedWidth(64), b"\1\2\3\4\5\6\7\x08"),
        (FixedWidth(256), bytes(range(32))),
        (FixedWidth(400), bytes(range(50))),
        (VariableWidth(32), b"hello"),
        (VariableWidth(64), b""),
    ],
)
def test_pages_of_one_value_hold_it_once(version, path, shape, value):
    chance = random.Random(6)
    rows = random_rows(path, 300, chance, few_values(value))
    case = written(rows, path, content_of(rows, path, shape), version)
    assert_reads(case, chance)
    # The reference reads no scalars above 32 bytes in 2.3, and strings become dictionaries there.
    if path.layers == (VALID,) and isinstance(shape, FixedWidth) and (version == "2.2" or shape.bits <= 256):
        assert sum(map(len, case.buffers)) < 100


def test_a_scalar_is_no_page_of_2_1():
    rows = random_rows(Path((VALID,)), 300, random.Random(6), few_values(b"\1\0\0\0"))
    case = written(rows, Path((VALID,)), content_of(rows, Path((VALID,)), FixedWidth(32)), "2.1")
    assert case.description.WhichOneof("layout") == "mini_block_layout"
    with pytest.raises(UnsupportedError):
        written(
            rows,
            Path((VALID,)),
            content_of(rows, Path((VALID,)), FixedWidth(32)),
            "2.1",
            EncodeOptions(layout="constant"),
        )


@pytest.mark.cover(1)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("shape", [FixedWidth(8), VariableWidth(32)])
def test_many_empty_lists_between_few_values(version, shape, whole_run):
    path = Path((VALID, EMPTYABLE))
    make, chance = value_maker(shape), random.Random(9)
    rows = tuple(
        (Entry(1, 0, make(chance)),) if number % 30_000 == 29_999 else (Entry(1, 1),)
        for number in range(100_000 if whole_run else 40_000)
    )
    assert_reads(written(rows, path, content_of(rows, path, shape), version), chance)


@pytest.mark.parametrize(
    "version", [pytest.param("2.1", marks=pytest.mark.whole), "2.2", pytest.param("2.3", marks=pytest.mark.whole)]
)
def test_chunks_are_cut_smaller_where_levels_are_many(version, whole_run):
    path = Path((NULLABLE, EMPTYABLE))
    make, chance = value_maker(FixedWidth(8)), random.Random(9)
    count = 120_000 if whole_run else 50_000
    rows = tuple((Entry(1, 0, make(chance)),) if number % 20 == 0 else (Entry(1, 2),) for number in range(count))
    case = written(rows, path, content_of(rows, path, FixedWidth(8)), version, EncodeOptions(layout="mini_block"))
    assert_reads(case, chance)


@pytest.mark.cover(1)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("bits", [8, 32])
def test_leaves_that_keep_their_dictionary(version, bits):
    chance = random.Random(3)
    path, words = Path((NULLABLE, LIST)), [b"one", b"", b"three" * 100]
    index_rows = random_rows(path, 900, chance, lambda c: c.randrange(3).to_bytes(bits // 8, "little"))
    leaf = LeafType(FixedWidth(bits), path.nodes, VariableWidth(32))
    content = content_of(index_rows, path, FixedWidth(bits), leaf)
    page = PageContent(
        content.num_rows, content.levels, content.values, leaf, content.num_nulls, block_of(words, VariableWidth(32))
    )
    case = written(index_rows, path, page, version)
    assert_reads(case, chance)
    if version != "2.1":
        for preset in ("fast", "compact"):
            assert_reads(written(index_rows, path, page, version, EncodeOptions(preset=preset)), chance)


@pytest.mark.parametrize(
    ("shape", "values", "versions"),
    [
        (VariableWidth(32), [b"alpha" * 5, b"beta" * 9, b"", b"g" * 300], VERSIONS),
        (FixedWidth(64), [b"\1" * 8, b"\xff" * 8], VERSIONS[1:]),
        (FixedWidth(128), [b"\1" * 16, b"\xff" * 16], VERSIONS),
    ],
)
def test_values_that_repeat_make_a_dictionary(shape, values, versions):
    for version in versions:
        chance = random.Random(8)
        rows = random_rows(Path((NULLABLE, LIST)), 500, chance, few_values(*values))
        page = content_of(rows, Path((NULLABLE, LIST)), shape)
        case = written(rows, Path((NULLABLE, LIST)), page, version)
        message = case.description
        chunked = message.values.chunked if version == "2.3" else message.mini_block_layout
        assert chunked.num_dictionary_items == len(values)
        assert_reads(case, chance)
        options = EncodeOptions(dict_size_ratio=0.0)
        plain = written(rows, Path((NULLABLE, LIST)), page, version, options).description
        assert not (plain.values.chunked if version == "2.3" else plain.mini_block_layout).num_dictionary_items


def test_fields_of_nothing():
    for version in VERSIONS:
        rows = tuple((Entry(),) for _ in range(30))
        page = PageContent(30, Levels((VALID,), 30), None, LeafType(None), 0)
        answer = encode_scope(page.leaf, file_version=version).layout(page)
        case = case_of(answer, rows, Path((VALID,)), page.leaf)
        assert case.buffers == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_page_twice_is_the_same_bytes(version):
    path = Path((NULLABLE, LIST, NULLABLE, LIST))
    rows = random_rows(path, 400, random.Random(1), value_maker(VariableWidth(32)))
    first, second = (written(rows, path, content_of(rows, path, VariableWidth(32)), version) for _ in range(2))
    assert first.buffers == second.buffers
    assert first.description.SerializeToString(deterministic=True) == second.description.SerializeToString(
        deterministic=True
    )


def test_values_of_256_bytes_are_zipped_and_smaller_ones_are_not():
    for size, layout in ((255, "mini_block_layout"), (256, "full_zip_layout")):
        rows = random_rows(Path((NULLABLE,)), 90, random.Random(2), lambda chance, size=size: chance.randbytes(size))
        for shape in (VariableWidth(32), FixedWidth(8 * size), FixedSizeList(FixedWidth(8), size)):
            case = written(rows, Path((NULLABLE,)), content_of(rows, Path((NULLABLE,)), shape), "2.2")
            assert case.description.WhichOneof("layout") == layout
            assert_reads(case, random.Random(2))


@pytest.mark.parametrize("version", VERSIONS)
def test_what_lies_inside_the_only_nulls_of_a_page_is_null_too(version):
    path = Path((VALID, VALID, NULLABLE))
    rows = tuple((Entry(0, 1),) for _ in range(50))
    page = content_of(rows, path, FixedWidth(32))
    case = written(rows, path, page, version)
    if version == "2.3":
        layers = case.description.structure.sparse.layers
        assert [layer.validity.meaning for layer in layers] == [layers[0].validity.meaning] * 3
        assert {layer.validity.num_positions for layer in layers} == {0}
    else:
        assert tuple(case.description.constant_layout.layers) == (NULLABLE,) * 3


@pytest.mark.parametrize("version", VERSIONS)
def test_lists_of_tuples_of_structs(version):
    """Dense levels repeat for each struct; in 2.3 they are told sparsely, as the reference reads them only."""
    path = Path((NULLABLE, NULLABLE, FULL_LIST), (0, 2, 0))
    # Two lists, of two tuples and one; the second tuple is null, as is an item of the last.
    entries = [(1, 0), (1, 0), (0, 2), (0, 2), (1, 0), (1, 1)]
    made = [Entry(*entry, None if entry[1] else bytes([number] * 4)) for number, entry in enumerate(entries)]
    page = content_of((tuple(made[:4]), tuple(made[4:])), path, FixedWidth(32))
    description = encode_scope(page.leaf, file_version=version).layout(page).description
    if version != "2.3":
        assert description.WhichOneof("layout") == "mini_block_layout"
        return
    lists, tuples, items = description.structure.sparse.layers
    assert (lists.list.num_child_slots, lists.list.num_non_empty_positions) == (3, 2)
    assert (tuples.fixed_size_list.dimension, tuples.fixed_size_list.validity.num_positions) == (2, 1)
    assert items.validity.num_positions == 3


PLAIN_NUMBERS = {"flat", "constant", "range", "inline_bitpacking", "out_of_line_bitpacking"}


def assert_readable_numbers(encoding):
    """The reference refuses other descriptions of positions and counts, when it opens the file."""
    case = encoding.WhichOneof("compression")
    if case == "delta":
        encoding = encoding.delta.deltas
        case = encoding.WhichOneof("compression")
    assert case in PLAIN_NUMBERS
    if case == "out_of_line_bitpacking":
        assert 0 < encoding.out_of_line_bitpacking.values.flat.bits_per_value < 64
    if case == "range":
        assert encoding.range.start + 2000 * encoding.range.step < 1 << 64


@pytest.mark.parametrize("preset", ["fast", "default", "compact"])
def test_positions_and_counts_are_described_as_the_reference_reads_them(preset):
    path = Path((NULLABLE, LIST))
    patterns = {
        "every third null": lambda n: [(1, 1)] if n % 3 == 0 else [(1, 0)],
        "counts that repeat": lambda n: [(1, 0)] * 1 + [(0, 0)] * (n // 100),
        "counts that fall": lambda n: [(1, 0)] + [(0, 0)] * (40 - n // 25),
        "counts one less each": lambda n: [(1, 0)] + [(0, 0)] * max(0, 60 - n),
        "runs of nulls": lambda n: [(1, 2)] if n // 90 % 2 else [(1, 0)],
        "one far null": lambda n: [(1, 3)] if n == 998 else [(1, 0)],
    }
    for pattern in patterns.values():
        rows = tuple(
            tuple(
                Entry(rep, def_, None if def_ else (n * 31 + place).to_bytes(4, "little"))
                for place, (rep, def_) in enumerate(pattern(n))
            )
            for n in range(1000)
        )
        page = content_of(rows, path, FixedWidth(32))
        case = written(rows, path, page, "2.3", EncodeOptions(layout="sparse", preset=preset))
        for layer in case.description.structure.sparse.layers:
            one = layer.list if layer.HasField("list") else layer
            assert_readable_numbers(one.validity.positions)
            if one is not layer:
                assert_readable_numbers(one.non_empty_positions)
                assert_readable_numbers(one.counts)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_wish_is_granted_where_it_can_be(version):
    rows = random_rows(NULLS, 300, random.Random(3), value_maker(FixedWidth(32)))
    page = content_of(rows, NULLS, FixedWidth(32))
    wished = {}
    for layout in ("mini_block", "full_zip", "sparse", "constant"):
        case = written(rows, NULLS, page, version, EncodeOptions(preferred_layout=layout))
        assert_reads(case, random.Random(3))
        wished[layout] = case.description
    if version == "2.3":
        planes = {name: message.values.WhichOneof("plane") for name, message in wished.items()}
        assert planes == {"mini_block": "chunked", "full_zip": "zipped", "sparse": "chunked", "constant": "chunked"}
        assert wished["sparse"].structure.WhichOneof("plane") == "sparse"
    else:
        kinds = {name: message.WhichOneof("layout") for name, message in wished.items()}
        usual = "mini_block_layout"
        assert kinds == {"mini_block": usual, "full_zip": "full_zip_layout", "sparse": usual, "constant": usual}


@pytest.mark.parametrize("version", VERSIONS)
def test_dictionaries_outrank_wishes_but_not_orders(version):
    rows = random_rows(NULLS, 600, random.Random(4), few_values(b"one word", b"another, longer word"))
    page = content_of(rows, NULLS, VariableWidth(32))
    for options, is_zipped in (
        (EncodeOptions(preferred_layout="full_zip"), False),
        (EncodeOptions(layout="full_zip"), True),
    ):
        case = written(rows, NULLS, page, version, options)
        assert_reads(case, random.Random(4))
        message = case.description
        found = message.values.WhichOneof("plane") if version == "2.3" else message.WhichOneof("layout")
        assert found.startswith(("zipped", "full_zip")) is is_zipped


def test_metadata_wishes_and_words_order():
    options = EncodeOptions().with_metadata({b"lance-encoding:structural-encoding": b"FullZip"})
    assert (options.layout, options.preferred_layout) == (None, "full_zip")
    options = options.with_words({"layout": "miniblock"}, column="a")
    assert (options.layout, options.layout_cost("mini_block", 8.0), options.layout_cost("full_zip", 8.0)) == (
        "mini_block",
        8.0,
        None,
    )


def test_no_layout_takes_what_it_cannot_hold():
    rows = random_rows(Path((VALID,)), 30, random.Random(2), value_maker(FixedWidth(32)))
    page = content_of(rows, Path((VALID,)), FixedWidth(32))
    for version, layout in (("2.2", "sparse"), ("2.1", "constant"), ("2.2", "constant"), ("2.3", "constant")):
        with pytest.raises(UnsupportedError):
            written(rows, Path((VALID,)), page, version, EncodeOptions(layout=layout))
    assert np.array_equal(page.values.values, content_of(rows, Path((VALID,)), FixedWidth(32)).values.values)


@pytest.mark.parametrize("version", ["2.2", "2.3"])
def test_blobs_of_the_second_kind_are_descriptors(version):
    words, numbers = FixedWidth(64), FixedWidth(32)
    leaf = LeafType(PackedStruct((FixedWidth(8), words, words, numbers, VariableWidth(32))))
    values = [b"one", None, b"", b"two" * 50]
    content = content_of(
        tuple((Entry(0, int(value is None), value),) for value in values), NULLS, VariableWidth(64), leaf
    )
    pending = encode_scope(leaf, file_version=version).layout(content)
    assert isinstance(pending, PendingPage)
    assert [part.tobytes() for part in pending.outside] == [b"one", b"two" * 50]
    page = pending.complete(np.array([64, 128], np.int64))
    places = [(64, 3), None, (0, 0), (128, 150)]
    rows = tuple(
        (Entry(0, 1) if place is None else Entry(0, 0, b"\0" + np.array(place, "<u8").tobytes() + bytes(4)),)
        for place in places
    )
    assert_reads(case_of(page, rows, NULLS, leaf), random.Random(0))


def test_blobs_that_a_version_has_not_are_refused():
    first = LeafType(PackedStruct((FixedWidth(64), FixedWidth(64))))
    content = content_of(((Entry(0, 0, b"one"),),), Path((VALID,)), VariableWidth(64), first)
    with pytest.raises(UnsupportedError):
        encode_scope(first, file_version="2.3").layout(content)


@pytest.mark.parametrize(("rate", "layout"), [(0.3, "mini_block_layout"), (0.0, "full_zip_layout")])
@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("options", [EncodeOptions(), EncodeOptions(preferred_layout="full_zip")])
def test_lists_that_old_readers_misread_are_not_zipped(options, version, rate, layout):
    """Releases 4.0.0 to 12.0.0 see values in null lists of nullable structs; chunks take them where they can."""
    path = Path((NULLABLE, LIST, NULLABLE))
    shape = FixedWidth(8 * 512)
    rows = random_rows(path, 40, random.Random(5), lambda chance: chance.randbytes(512), rate=rate)
    page = content_of(rows, path, shape)
    case = written(rows, path, page, version, options)
    assert case.description.WhichOneof("layout") == layout
    assert_reads(case, random.Random(6))
    forced = written(rows, path, page, version, EncodeOptions(layout="full_zip"))
    assert forced.description.WhichOneof("layout") == "full_zip_layout"
