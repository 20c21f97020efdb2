"""What a user's type checker sees of the public names: `nox -s lint` checks it with mypy's strict settings."""

from typing import assert_type

import pyarrow as pa

import lance_arrow
from lance_arrow import LanceFile, LanceFormat, LanceTable, LanceWriter, dataset, read_table, receipts, write_table
from lance_arrow.errors import LanceError


def uses(rows: pa.Table) -> int:
    flights = dataset("flights", verify="full", dictionaries="decode")
    assert_type(flights, lance_arrow.LanceDataset)
    write_table(rows, "file.lance", preset="compact", file_version="2.1")
    with LanceWriter("file.lance", rows.schema, preset="fast") as writer:
        writer.write(rows)
    table = LanceTable.create("table.lance", rows, mode="append")
    assert_type(table, LanceTable)
    table.append(rows)
    with LanceFile("file.lance", verify="off", blobs="descriptors") as file, receipts() as found:
        read_table("file.lance")
        assert_type(file.num_rows, int)
        assert_type(found.total.rows, int)
    try:
        LanceFormat(version=1)
    except LanceError as error:
        assert_type(error.column, str | None)
    return table.count_rows()


def misspells(rows: pa.Table) -> None:
    """Each line is refused: strict settings report a comment that ignores nothing."""
    dataset("flights", verify="fully")  # type: ignore[arg-type]
    write_table(rows, "file.lance", preset="small")  # type: ignore[arg-type]
    write_table(rows, "file.lance", file_version="2")  # type: ignore[arg-type]
    LanceTable.create("table.lance", rows, mode="replace")  # type: ignore[arg-type]
    LanceFile("file.lance", blobs="file")  # type: ignore[arg-type]
