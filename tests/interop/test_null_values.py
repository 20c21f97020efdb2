"""What codecs store in place of nulls: smaller files, and nothing else that anyone can see."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from same import assert_same, taken
from values import seeded
from witness import Witness

import lance_arrow

pytestmark = pytest.mark.interop

ROWS = 60_000


def nullable(kind: str, share: float) -> pa.Array:
    rng = seeded(f"{kind} {share}")
    values = {
        "runs": np.repeat(rng.integers(1 << 20, 1 << 30, ROWS // 50), 50).astype(np.int32),
        "wide runs": np.repeat(rng.integers(1 << 50, 1 << 60, ROWS // 50), 50),
        "times": 1_700_000_000_000_000 + np.arange(ROWS) * 1_000_000,
        "negative": -np.repeat(np.arange(ROWS // 50, dtype=np.int16), 50) - 1,
        "few": np.repeat(rng.integers(0, 50, ROWS // 50), 50),
        "random": rng.integers(1, 1 << 31, ROWS).astype(np.uint32),
    }[kind]
    mask = rng.random(ROWS) < share
    array = pa.array(values, mask=mask)
    return pc.cast(pc.cast(array, pa.string()), pa.dictionary(pa.int16(), pa.string())) if kind == "few" else array


@pytest.mark.cover(1)
@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("kind", ["runs", "wide runs", "times", "negative", "few", "random"])
@pytest.mark.parametrize("version", ["2.1", "2.2", "2.3"])
def test_nulls_cost_little_and_change_nothing(
    witness: Witness, tmp_path: Path, version: str, kind: str, share: float
) -> None:
    array = nullable(kind, share)
    nested = pa.StructArray.from_arrays([array], ["v"], mask=pa.array(np.arange(ROWS) % 7 == 3))
    lists = pa.ListArray.from_arrays(pa.array([*range(0, ROWS, 3), ROWS], pa.int32()), array)
    for number, table in enumerate((pa.table({"v": array, "s": nested}), pa.table({"l": lists}))):
        path = tmp_path / f"{number}.lance"
        lance_arrow.write_table(table, path, file_version=version, rows_per_zone=1024)
        picks = seeded(kind).integers(0, len(table), 200)
        with lance_arrow.LanceFile(path) as file:
            assert_same(table, file.read())
            assert_same(taken(table, picks), file.take(picks))
        assert_same(table, witness.read(path))
        assert lance_arrow.verify(path).ok


def test_filters_and_zones_never_see_what_lies_under_nulls(tmp_path: Path) -> None:
    """Zones of nothing but nulls have no bounds, whatever run their values are part of."""
    values = np.repeat(np.arange(60, dtype=np.int64) + 10**12, 1000)
    mask = (np.arange(ROWS) // 1000 % 3 == 1) | (np.arange(ROWS) % 11 == 5)
    table = pa.table({"v": pa.array(values, mask=mask)})
    path = tmp_path / "file.lance"
    lance_arrow.write_table(table, path, rows_per_zone=1000)
    for number in range(60):
        wanted = pc.field("v") == 10**12 + number
        found = lance_arrow.dataset(path).to_table(filter=wanted)
        assert found.num_rows == (0 if number % 3 == 1 else np.count_nonzero(~mask & (values == 10**12 + number)))
    (fragment,) = lance_arrow.dataset(path).get_fragments()
    bounds = [(zone.statistics["v"].min, zone.statistics["v"].max) for zone in fragment.zones]
    assert bounds == [(None, None) if n % 3 == 1 else (10**12 + n, 10**12 + n) for n in range(60)]


@pytest.mark.parametrize(("kind", "most_growth"), [("runs", 0.4), ("wide runs", 0.4), ("times", 1.0), ("few", 0.6)])
def test_sizes(tmp_path: Path, kind: str, most_growth: float) -> None:
    """Of a column with one null in ten: validity takes a bit a row, runs and steps go on over nulls."""
    array = nullable(kind, 0.1)
    whole = pa.table({"v": pc.fill_null_forward(array.dictionary_decode() if kind == "few" else array).drop_null()})
    sizes = []
    for table in (whole, pa.table({"v": array})):
        path = tmp_path / f"{len(sizes)}.lance"
        lance_arrow.write_table(table, path, rows_per_zone=0, checksums=False)
        sizes.append(path.stat().st_size)
    assert sizes[1] < sizes[0] * (1 + most_growth) + ROWS // 8 + 2048
