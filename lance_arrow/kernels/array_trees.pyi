from collections.abc import Sequence
from typing import Any

import pyarrow as pa

KINDS: dict[str, int]

class ColumnForms:
    def __init__(self, columns: Sequence[tuple[Any, ...]], schema: pa.Schema) -> None: ...
    def batch(self, done: list[Any], num_rows: int) -> pa.RecordBatch | None: ...
