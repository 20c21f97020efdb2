"""Ways of reading one file that must agree: columns apart and together, batches, rows, nested paths, the dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
from canonical import difference
from witness import Witness, WitnessDied, WitnessRefused

import lance_arrow

NUM_TAKEN = 40
NUM_PATHS = 3
# These ways cost more than the others and go through code that does not depend on the column.
DATASET_SHARE, WITNESS_SHARE = 0.2, 0.2

Read = tuple[str, np.ndarray | None, pa.Table]


def disagreement(
    witness: Witness,
    path: Path,
    file: lance_arrow.LanceFile,
    columns: dict[str, pa.ChunkedArray],
    rng: np.random.Generator,
) -> str | None:
    """Say which way of reading gives other rows than `columns`, each of which was read alone; None when none does.

    Parameters
    ----------
    witness
        Is asked for rows of some files too.
    path, file
        The file, open; it is opened again for reads that must not find anything cached.
    columns
        The right values.
    rng
        Decides on columns, rows, batch sizes and paths.
    """
    names = [str(name) for name in rng.permutation(list(columns))]
    reads = [*_scans(file, names, rng), *_takes(path, file, names, rng)]
    if rng.random() < DATASET_SHARE:
        reads += _of_dataset(path, names, file.num_rows, rng)
    for way, rows, actual in reads:
        actual.validate(full=True)
        found = _first_difference(columns, rows, actual)
        if found is not None:
            return f"{way}: {found}"
    if rng.random() < WITNESS_SHARE:
        found = _witness_rows(witness, path, columns, file.num_rows, rng)
        if found is not None:
            return found
    return _nested(path, file, columns, rng)


def _first_difference(columns: dict[str, pa.ChunkedArray], rows: np.ndarray | None, actual: pa.Table) -> str | None:
    for name in actual.column_names:
        found = difference(columns[name], actual.column(name), rows)
        if found is not None:
            return f"{name}: {found}"
    return None


def _batch_size(num_rows: int, rng: np.random.Generator) -> int:
    size = int(rng.integers(1, num_rows + 2)) if rng.random() < 0.5 else int(rng.choice([7, 100, 1024]))
    return max(size, num_rows // 100, 1)


def some_rows(num_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Row offsets: any order with duplicates, ascending, one run, all of them backwards, or none."""
    if num_rows == 0:
        return np.zeros(0, np.int64)
    rows = rng.integers(0, num_rows, int(rng.integers(1, NUM_TAKEN)))
    kind = rng.random()
    if kind < 0.3:
        return np.sort(rows)
    if kind < 0.45:
        first = int(rows[0])
        return np.arange(first, min(num_rows, first + int(rng.integers(1, 200))))
    if kind < 0.5:
        return np.arange(num_rows)[::-1]
    return rows[: int(rng.integers(0, 2))] if kind < 0.6 else rows


def _some(names: Sequence[str], rng: np.random.Generator) -> list[str]:
    return list(names[: int(rng.integers(1, len(names) + 1))])


def _scans(file: lance_arrow.LanceFile, names: list[str], rng: np.random.Generator) -> Iterator[Read]:
    yield "read together", None, file.read(columns=names)
    batch_size = _batch_size(file.num_rows, rng)
    batches = list(file.to_batches(columns=names, batch_size=batch_size))
    if any(batch.num_rows > batch_size for batch in batches):
        raise AssertionError(f"a batch exceeds {batch_size} rows")
    yield f"batches of {batch_size}", None, pa.Table.from_batches(batches, file.read(columns=names).schema)


def _takes(path: Path, file: lance_arrow.LanceFile, names: list[str], rng: np.random.Generator) -> Iterator[Read]:
    """Rows with nothing cached, then with chunk tables and repetition indices of earlier reads."""
    rows = some_rows(file.num_rows, rng)
    with lance_arrow.LanceFile(path) as fresh:
        yield f"first take {rows.tolist()}", rows, fresh.take(rows, columns=_some(names, rng))
        rows = some_rows(file.num_rows, rng)
        yield f"second take {rows.tolist()}", rows, fresh.take(rows, columns=names)
    yield f"take {rows.tolist()}", rows, file.take(rows, columns=names)
    table = file.read(columns=names)
    if all(_takes_right(field.type) for field in table.schema):
        yield f"read().take {rows.tolist()}", rows, table.take(pa.array(rows, pa.int64()))


def _takes_right(data_type: pa.DataType) -> bool:
    """Whether pyarrow's `take` is to be trusted: 26 misplaces lists of fixed size and refuses some dictionaries."""
    if pa.types.is_fixed_size_list(data_type) or pa.types.is_dictionary(data_type):
        return False
    return all(_takes_right(data_type.field(i).type) for i in range(data_type.num_fields))


def _of_dataset(path: Path, names: list[str], num_rows: int, rng: np.random.Generator) -> Iterator[Read]:
    dataset = pads.dataset(path, format=lance_arrow.LanceFormat())
    if dataset.count_rows() != num_rows:
        raise AssertionError(f"the dataset counts {dataset.count_rows()} rows, expected {num_rows}")
    yield "dataset", None, dataset.to_table(columns=names)
    batch_size = _batch_size(num_rows, rng)
    batches = list(dataset.to_batches(columns=_some(names, rng), batch_size=batch_size))
    if batches:
        yield f"dataset batches of {batch_size}", None, pa.Table.from_batches(batches)
    rows = some_rows(num_rows, rng)
    ours = lance_arrow.dataset(path)
    yield f"dataset take {rows.tolist()}", rows, ours.take(pa.array(rows), columns=names)


def _witness_rows(
    witness: Witness, path: Path, columns: dict[str, pa.ChunkedArray], num_rows: int, rng: np.random.Generator
) -> str | None:
    """Compare with rows that the reference takes; where it gives up or strays from its own scan, it proves nothing.

    Nor where that scan is not what we read: that is for whoever compares columns to judge.
    """
    rows = np.unique(some_rows(num_rows, rng))
    if len(rows) == 0:
        return None
    for name, column in columns.items():
        try:
            theirs = witness.take(path, rows.tolist(), [name]).column(name)
            scanned = witness.read(path, [name]).column(name)
        except (WitnessRefused, WitnessDied):
            continue
        strays = difference(scanned, theirs, rows) is not None or difference(column, scanned, types=False) is not None
        found = None if strays else difference(column, theirs, rows, types=False)
        if found is not None:
            return f"the reference's take {rows.tolist()} of {name}: {found}"
    return None


def _paths(field: pa.Field, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if pa.types.is_struct(field.type):
        for child in field.type:
            yield (*above, field.name, child.name)
            yield from _paths(child, (*above, field.name))


def _nested(
    path: Path, file: lance_arrow.LanceFile, columns: dict[str, pa.ChunkedArray], rng: np.random.Generator
) -> str | None:
    """Fields of structs, several at a time, some beside the whole of their column."""
    known = [found for name in columns for found in _paths(file.schema.field(name), ())]
    if not known:
        return None
    chosen = [known[pick] for pick in rng.integers(0, len(known), int(rng.integers(1, NUM_PATHS + 1)))]
    if rng.random() < 0.3:
        chosen.append((str(rng.choice(list(columns))),))
    dotted = [".".join(parts) for parts in chosen]
    rows = some_rows(file.num_rows, rng)
    with lance_arrow.LanceFile(path) as fresh:
        reads = [("read", None, fresh.read(columns=dotted)), (f"take {rows.tolist()}", rows, fresh.take(rows, dotted))]
    for way, picks, actual in reads:
        actual.validate(full=True)
        for number, parts in enumerate(chosen):
            whole = columns[parts[0]]
            expected = pc.struct_field(whole, list(parts[1:])) if parts[1:] else whole
            found = difference(expected, actual.column(number), picks)
            if found is not None:
                return f"{way} of {dotted[number]} among {dotted}: {found}"
    return None
