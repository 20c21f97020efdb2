"""Random nested tables from an integer: types, nulls at every level, garbage below them, encoding options, batches."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa
from random_leaves import FIXED, FLOATS, INTEGERS, TEXTS, fixed_width, null_mask, text, validity

MAX_DEPTH = 3
# Of a few tables.
DEEP = 6
MAX_ITEMS = 20_000
ITEM_TYPES = (pa.bool_(), *INTEGERS, *FLOATS, pa.timestamp("us"), pa.date32())
# Versions before maps, fixed-size lists of structs and packed structs of strings.
OLD = ("2.0", "2.1")
OPTIONS_OF_2_0 = {"compression": ("lz4", "zstd", "none", "fsst"), "compression-level": ("1", "9")}
OPTIONS = {
    "compression": ("lz4", "zstd", "none", "fsst"),
    "structural-encoding": ("miniblock", "fullzip"),
    "rle-threshold": ("0.0", "0.5", "1.0"),
    "bss": ("off", "on", "auto"),
    "dict-divisor": ("2", "10"),
    "dict-size-ratio": ("0.01", "0.99"),
    "dict-values-compression": ("lz4", "zstd", "none"),
    "minichunk-size": ("64", "1024", "16384", "65536"),
}


@dataclass(frozen=True)
class Node:
    """One level of a column: its kind, and what lies below.

    Parameters
    ----------
    kind
        ``leaf``, ``dictionary``, ``struct``, ``list``, ``large_list``, ``map`` or ``fixed``.
    type
        Arrow type of this level.
    children
        Levels below; a map has its keys and its items.
    nullable
        Whether rows of this level may be null.
    options
        Field metadata.
    """

    kind: str
    type: pa.DataType
    children: tuple[Node, ...] = ()
    nullable: bool = True
    options: dict[str, str] = field(default_factory=dict)

    def field(self, name: str) -> pa.Field:
        """Field of this level below a parent or at the root."""
        return pa.field(name, self.type, self.nullable, self.options or None)


@dataclass(frozen=True)
class Case:
    """A table and how the reference shall write it."""

    table: pa.Table
    slices: list[tuple[int, int]] | None
    writer_options: dict[str, int]

    @property
    def expected(self) -> pa.Table:
        """Rows that the file holds."""
        if self.slices is None:
            return self.table
        return pa.concat_tables([self.table.slice(start, stop - start) for start, stop in self.slices])


def _options(rng: np.random.Generator, version: str, wishes: bool) -> dict[str, str]:
    chosen = {}
    if rng.random() < 0.45:
        options = OPTIONS_OF_2_0 if version == "2.0" else OPTIONS
        for key in rng.choice(list(options), int(rng.integers(1, min(4, 1 + len(options)))), replace=False):
            values = options[str(key)]
            if version == "2.3" and key == "structural-encoding":
                values += ("sparse",)
            chosen[f"lance-encoding:{key}"] = str(rng.choice(values))
    return chosen if wishes else {}


def _leaf(rng: np.random.Generator, version: str, wishes: bool) -> Node:
    share = rng.random()
    if share < 0.35:
        leaf = TEXTS[rng.integers(0, len(TEXTS))]
    elif share < 0.38:
        leaf = pa.null()
    elif share < 0.7:
        leaf = (*INTEGERS, *FLOATS)[rng.integers(0, len(INTEGERS) + len(FLOATS))]
    else:
        leaf = FIXED[rng.integers(0, len(FIXED))]
    nullable = leaf == pa.null() or bool(rng.random() < 0.8)
    if share > 0.95:
        value_type = (pa.string(), pa.large_string(), pa.binary(), pa.int64(), pa.float32())[rng.integers(0, 5)]
        index_type = INTEGERS[rng.integers(0, len(INTEGERS))]
        return Node("dictionary", pa.dictionary(index_type, value_type), (), nullable, _options(rng, version, wishes))
    return Node("leaf", leaf, (), nullable, _options(rng, version, wishes))


def plan(rng: np.random.Generator, version: str, depth: int, wishes: bool = True) -> Node:
    """A column of at most `depth` levels above its leaves."""
    kinds = ["struct", "list", "large_list", "fixed"] + (["map"] if version not in OLD else [])
    if depth == 0 or rng.random() < 0.35:
        return _leaf(rng, version, wishes)
    kind = str(rng.choice(kinds))
    nullable = bool(rng.random() < 0.75)
    options = _options(rng, version, wishes)
    if kind == "fixed":
        item: Node = Node("leaf", ITEM_TYPES[rng.integers(0, len(ITEM_TYPES))])
        if rng.random() < 0.1 and version not in OLD:
            members = tuple(
                Node("leaf", ITEM_TYPES[rng.integers(0, len(ITEM_TYPES))]) for _ in range(int(rng.integers(1, 4)))
            )
            item = Node("struct", pa.struct([one.field("xyz"[i]) for i, one in enumerate(members)]), members)
        elif rng.random() < 0.15:
            item = Node("fixed", pa.list_(item.field("item"), 2), (item,))
        size = int(rng.choice([1, 2, 3, 8, 100], p=[0.2, 0.3, 0.25, 0.2, 0.05]))
        return Node(kind, pa.list_(item.field("item"), size), (item,), nullable, options)
    if kind == "struct":
        packed, num_children = rng.random() < 0.25, int(rng.integers(1, 4))
        if packed and (version in OLD or rng.random() < 0.5):
            # Children of varying width are packed since 2.2 only, in another way.
            children = tuple(Node("leaf", FIXED[rng.integers(1, len(FIXED))], (), False) for _ in range(num_children))
        else:
            children = tuple(plan(rng, version, 0 if packed else depth - 1, wishes) for _ in range(num_children))
        if packed:
            options["lance-encoding:packed"] = "true"
        # Structs of 2.0 cannot be null.
        nullable = nullable and version != "2.0"
        fields = [child.field("abc"[number]) for number, child in enumerate(children)]
        return Node(kind, pa.struct(fields), children, nullable, options)
    if kind == "map":
        key_type = (pa.string(), pa.int32(), pa.large_binary())[rng.integers(0, 3)]
        children = (Node("leaf", key_type, (), False), plan(rng, version, depth - 1, wishes))
        map_type = pa.map_(key_type, children[1].field("value"))
        return Node(kind, map_type, children, nullable, options)
    item = plan(rng, version, depth - 1, wishes)
    list_type = (pa.list_ if kind == "list" else pa.large_list)(item.field("item"))
    return Node(kind, list_type, (item,), nullable, options)


def _lengths(rng: np.random.Generator, num_rows: int) -> np.ndarray:
    pattern = str(rng.choice(["few", "none", "one", "same", "long", "rare"], p=[0.5, 0.06, 0.1, 0.1, 0.12, 0.12]))
    most = {"few": 5, "none": 1, "one": 2, "same": 4, "long": 400, "rare": 1}[pattern]
    lengths = rng.integers(0, most, num_rows)
    if pattern == "same":
        lengths[:] = rng.integers(1, 6)
    if pattern == "rare" and num_rows:
        lengths[rng.integers(0, num_rows, 3)] = rng.integers(1, 3000, 3)
    lengths[np.cumsum(lengths) > MAX_ITEMS] = 0
    return lengths


def build(rng: np.random.Generator, node: Node, num_rows: int) -> pa.Array:
    """Random rows of `node`."""
    share = float(rng.choice([0.0, 0.1, 0.5, 0.97, 1.0], p=[0.25, 0.3, 0.25, 0.1, 0.1])) if node.nullable else 0.0
    is_null = null_mask(rng, num_rows, share)
    garbage = bool(rng.random() < 0.6)
    if node.kind == "leaf":
        if node.type == pa.null():
            return pa.nulls(num_rows)
        return (text if node.type in TEXTS else fixed_width)(rng, node.type, is_null, garbage)
    if node.kind == "dictionary":
        nullable_items = node.nullable and bool(rng.random() < 0.1)
        items = build(rng, Node("leaf", node.type.value_type, (), nullable_items), int(rng.integers(1, 90)))
        indices = pa.array(rng.integers(0, len(items), num_rows), node.type.index_type, mask=is_null)
        return pa.DictionaryArray.from_arrays(indices, items)
    if node.kind == "struct":
        children = [build(rng, child, num_rows) for child in node.children]
        return pa.Array.from_buffers(node.type, num_rows, [validity(is_null)], children=children)
    if node.kind == "fixed":
        items = build(rng, node.children[0], num_rows * node.type.list_size)
        return pa.Array.from_buffers(node.type, num_rows, [validity(is_null)], children=[items])
    lengths = _lengths(rng, num_rows)
    if not garbage:
        lengths[is_null] = 0
    lead = int(rng.integers(0, 4)) if garbage else 0
    offsets = np.full(num_rows + 1, lead, np.int64)
    offsets[1:] += np.cumsum(lengths)
    children = [build(rng, child, int(offsets[-1]) + lead) for child in node.children]
    if node.kind == "map":
        children = [pa.StructArray.from_arrays(children, fields=[node.type.key_field, node.type.item_field])]
    width = np.int64 if node.kind == "large_list" else np.int32
    buffers = [validity(is_null), pa.py_buffer(offsets.astype(width).tobytes())]
    return pa.Array.from_buffers(node.type, num_rows, buffers, children=children)


def _num_rows(rng: np.random.Generator) -> int:
    most = int(rng.choice([3, 40, 300, 1500, 5000], p=[0.15, 0.3, 0.3, 0.15, 0.1]))
    return int(rng.integers(0, most + 1))


def random_case(seed: int, version: str, wishes: bool = True) -> Case:
    """The table of one seed, the same at every call; without `wishes` its fields ask for no encodings."""
    rng = np.random.default_rng([seed, int(version.replace(".", ""))])
    deepest = DEEP if rng.random() < 0.02 else MAX_DEPTH
    columns = [plan(rng, version, int(rng.integers(0, deepest + 1)), wishes) for _ in range(int(rng.integers(1, 4)))]
    schema = pa.schema([node.field(f"c{number}") for number, node in enumerate(columns)])
    num_batches = int(rng.choice([1, 2, 3, 5], p=[0.5, 0.2, 0.2, 0.1]))
    counts = [_num_rows(rng) for _ in range(num_batches)]
    chunks = [pa.record_batch([build(rng, node, rows) for node in columns], schema=schema) for rows in counts]
    if rng.random() < 0.01:
        # More than a page of 8 MiB without asking for small ones.
        schema = schema.append(pa.field("wide", pa.binary(2500)))
        wide = [
            pa.FixedSizeBinaryArray.from_buffers(pa.binary(2500), rows, [None, pa.py_buffer(rng.bytes(rows * 2500))])
            for rows in (2000, 2500)
        ]
        rest = [[build(rng, node, rows) for node in columns] for rows in (2000, 2500)]
        chunks = [pa.record_batch([*arrays, last], schema=schema) for arrays, last in zip(rest, wide, strict=True)]
    table = pa.Table.from_batches(chunks, schema)
    writer_options = {"data_cache_bytes": 1} if rng.random() < 0.6 else {}
    if rng.random() < 0.15:
        # Pages end inside a batch.
        writer_options["max_page_bytes"] = int(rng.choice([512, 4096, 50_000]))
    slices = None
    if table.num_rows and len(chunks) == 1 and rng.random() < 0.35:
        cuts = np.sort(rng.integers(0, table.num_rows + 1, int(rng.integers(2, 5))))
        slices = [(int(start), int(stop)) for start, stop in pairwise(cuts)]
    return Case(table, slices, writer_options)
