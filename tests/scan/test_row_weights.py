"""What rows are estimated to take is what they take, where their types tell it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from values import seeded
from witness import Witness

from lance_arrow import LanceFile
from lance_arrow.scan.row_weights import USUAL_EXPANSION, RowWeights


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 9)), min_size=1, max_size=6), st.data())
def test_rows_within_bytes(pages, data):
    each = np.repeat([size for _, size in pages], [rows for rows, _ in pages])
    borders = np.concatenate(([0], np.cumsum([rows for rows, _ in pages])))
    totals = np.concatenate(([0], np.cumsum(each)))[borders].astype(float)
    weights = RowWeights(borders, totals)
    start = data.draw(st.integers(0, len(each) - 1))
    stop = data.draw(st.integers(start, len(each)))
    assert weights.bytes_between(start, stop) == pytest.approx(each[start:stop].sum())
    allowed = data.draw(st.integers(0, 500))
    count = weights.rows_within(start, allowed + 0.5)
    assert each[start : start + count].sum() <= allowed
    assert start + count == len(each) or each[start : start + count + 1].sum() > allowed


@pytest.mark.interop
def test_estimates_of_a_file(witness: Witness, tmp_path: Path) -> None:
    num_rows = 20_000
    rng = seeded("weights")
    fixed = pa.table(
        {
            "random": pa.array(rng.integers(0, 2**62, num_rows)),
            "constant": pa.array(np.full(num_rows, 7, np.int32)),
            "packed": pa.array(rng.integers(0, 3, num_rows)),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(rng.random(num_rows * 5)), 5),
            "struct": pa.array(
                [{"a": i, "b": i % 2} for i in range(num_rows)], pa.struct([("a", pa.int64()), ("b", pa.int8())])
            ),
        }
    )
    texts = pa.array([bytes(rng.integers(0, 256, 40, np.uint8)) for _ in range(num_rows)])
    path = witness.write(fixed.append_column("texts", texts), tmp_path / "file.lance", "2.2")
    with LanceFile(path) as file:
        for node in file._rows.roots:
            estimated = file._rows.weights([node]).bytes_between(0, num_rows)
            held = file.read([node.field.name]).nbytes
            if node.field.name == "texts":
                assert held <= estimated <= 1.2 * USUAL_EXPANSION * held
            else:
                # Encoded bytes may exceed decoded ones by headers of chunks.
                assert held <= estimated <= 1.05 * held
