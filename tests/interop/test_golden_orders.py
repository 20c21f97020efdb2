"""The first rows in order of columns of historical tables, whose zone maps are those of their time, or none."""

from __future__ import annotations

from pathlib import Path

import golden
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_arrow import LanceTable, errors

ROOTS = [root for root, _ in golden.tables()]


@pytest.mark.share(3)
@pytest.mark.cover(1)
@pytest.mark.skipif(not ROOTS, reason="no historical tables; set LANCE_ARROW_GOLDEN to their folder")
@pytest.mark.parametrize("order", ["ascending", "descending"])
@pytest.mark.parametrize("root", ROOTS, ids=lambda root: root.relative_to(golden.FOLDER).as_posix())
def test_first_rows(root: Path, order: str) -> None:
    try:
        table = LanceTable.open(root)
        rows = table.to_table()
    except (errors.UnsupportedError, FileNotFoundError) as error:
        pytest.skip(f"a scan is refused, too: {error}")
    compared = 0
    for number, field in enumerate(rows.schema):
        is_single = not pa.types.is_nested(field.type) and not isinstance(field.type, pa.BaseExtensionType)
        if not is_single or "." in field.name or pa.types.is_dictionary(field.type):
            continue
        column = rows.column(number).combine_chunks()
        try:
            wanted = column.take(pc.sort_indices(column, sort_keys=[("", order)]))
        except pa.ArrowNotImplementedError:
            continue
        for limit in (1, 3, 50):
            found = table.to_table([field.name], order_by=[(field.name, order)], limit=limit).column(0)
            assert repr(found.to_pylist()) == repr(wanted[:limit].to_pylist()), field
        compared += 1
    assert compared or not np.any([pa.types.is_primitive(type_) for type_ in rows.schema.types])
