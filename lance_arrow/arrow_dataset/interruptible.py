"""Scans that Ctrl-C ends at once: Arrow's own waits do not look at signals."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
from pyarrow.dataset import Scanner


def collect(scanner: Scanner) -> pa.Table:
    """Read a whole scan; an exception that a signal raises in the main thread ends it.

    Batches are gathered by another thread, as waiting for one is what cannot be interrupted. After an interruption it
    asks for no further batch; what Arrow reads ahead of it is dropped.
    """
    if threading.current_thread() is not threading.main_thread():
        found: pa.Table = scanner.to_table()
        return found
    stopped = threading.Event()
    helper = ThreadPoolExecutor(1, thread_name_prefix="lance-arrow-scan")
    try:
        batches = helper.submit(_gather, scanner, stopped).result()
    finally:
        stopped.set()
        helper.shutdown(wait=False)
    return _table(batches, scanner.projected_schema)


def _gather(scanner: Scanner, stopped: threading.Event) -> list[pa.RecordBatch]:
    batches = []
    for batch in scanner.to_batches():
        if stopped.is_set():
            break
        batches.append(batch)
    return batches


def _table(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    if len(schema) or not batches:
        return pa.Table.from_batches(batches, schema)
    # Rows without columns are counted by their batches.
    return pa.Table.from_batches(batches)
