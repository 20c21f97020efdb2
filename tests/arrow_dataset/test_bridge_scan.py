"""How the bridge schedules: order, readahead, pools, errors, abandonment, nested scans."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from bridge_toys import Log, ToyFormat, ToyHandler, toy_format, write_toy

from lance_arrow.arrow_dataset.handler_protocol import ScanRequest
from lance_arrow.errors import CorruptPageError, InternalError
from lance_arrow.scan.file_place import FilePlace

NUM_TASKS = 30
keep_alive: list[object] = []


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A file of NUM_TASKS tasks of two rows each."""
    write_toy(tmp_path / "f.toy", pa.table({"a": list(range(2 * NUM_TASKS))}), rows_per_batch=2)
    return str(tmp_path / "f.toy")


@pytest.fixture
def one_cpu() -> Iterator[None]:
    """Leave Arrow a single CPU thread."""
    before = pa.cpu_count()
    pa.set_cpu_count(1)
    yield
    pa.set_cpu_count(before)


def dataset_of(path: str, **options: object) -> tuple[pads.Dataset, Log]:
    """Open the file with hooks."""
    file_format = toy_format(**options)
    return pads.dataset(path, format=file_format), file_format.handler.log


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait, for ten seconds at most."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def within(seconds: float, call: Callable[[], object]) -> object:
    """Run in a daemon thread and return the result, or fail when it takes too long."""
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(call()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert results, "no answer in time"
    return results[0]


def test_order_is_kept_when_early_tasks_are_slow(path: str) -> None:
    dataset, log = dataset_of(path, on_run=lambda index: time.sleep(0.02 if index % 4 == 0 else 0))
    assert dataset.to_table().column("a").to_pylist() == list(range(2 * NUM_TASKS))
    assert log.max_running > 1
    assert threading.get_ident() not in log.threads


@pytest.mark.parametrize("readahead", [0, 1, 2, 5])
def test_tasks_in_flight_never_exceed_readahead(path: str, readahead: int) -> None:
    before = pa.cpu_count()
    pa.set_cpu_count(8)
    try:
        dataset, log = dataset_of(path, delay_seconds=0.005)
        dataset.to_table(batch_readahead=readahead, fragment_readahead=1)
    finally:
        pa.set_cpu_count(before)
    assert log.max_running == max(1, readahead)
    assert {request.batch_readahead for request in log.requests} == {readahead}


def test_tasks_run_on_no_more_threads_than_arrow_has_cpus(path: str, one_cpu: None) -> None:
    dataset, log = dataset_of(path, delay_seconds=0.002)
    dataset.to_table(batch_readahead=16)
    assert log.max_running == 1


def test_without_threads_all_runs_in_the_caller(path: str) -> None:
    dataset, log = dataset_of(path)
    paths = [path, path]
    several = pads.dataset(paths, format=toy_format(log=log))
    assert several.to_table(use_threads=False).num_rows == 4 * NUM_TASKS
    assert sum(batch.num_rows for batch in dataset.to_batches(use_threads=False)) == 2 * NUM_TASKS
    assert log.threads == {threading.get_ident()}
    assert log.max_running == 1


def test_memory_comes_from_the_callers_pool(path: str) -> None:
    dataset, log = dataset_of(path)
    pool = pa.proxy_memory_pool(pa.default_memory_pool())
    result = dataset.to_table(memory_pool=pool)
    assert log.requests[-1].memory_pool.bytes_allocated() == pool.bytes_allocated()
    assert pool.bytes_allocated() >= result.nbytes
    del result
    # Arrow's threads let go of a batch a little after the caller got it (for Parquet, too): the pool must live on.
    wait_until(lambda: pool.bytes_allocated() == 0)
    assert log.requests[-1].memory_pool.max_memory() == pool.max_memory() > 0
    keep_alive.append(pool)


class OddError(Exception):
    """An exception no library knows."""


@pytest.mark.parametrize("use_threads", [True, False])
@pytest.mark.parametrize("where", ["on_plan", "on_run"])
@pytest.mark.parametrize("error_type", [OddError, KeyboardInterrupt, CorruptPageError, FileNotFoundError, MemoryError])
def test_exceptions_arrive_as_they_were_raised(
    path: str, error_type: type[BaseException], where: str, use_threads: bool
) -> None:
    error = error_type("made on purpose")
    error.add_note("while testing")
    error.__cause__ = ValueError("the cause")

    def fail(*_: object) -> None:
        raise error

    dataset, _ = dataset_of(path, **{where: fail})
    with pytest.raises(error_type) as caught:
        dataset.to_table(use_threads=use_threads)
    assert caught.value is error
    assert caught.value.__notes__ == ["while testing"]
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(error_type, match="made on purpose"):
        list(dataset.to_batches(use_threads=use_threads))


def test_exceptions_of_inspect_supports_and_count_arrive(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    error = CorruptPageError("bad bytes", column="a", page=3)

    def fail(*_: object) -> None:
        raise error

    dataset, _ = dataset_of(path)
    monkeypatch.setattr(ToyHandler, "count_rows", fail)
    with pytest.raises(CorruptPageError) as caught:
        dataset.count_rows()
    assert (caught.value.column, caught.value.page) == ("a", 3)
    monkeypatch.setattr(ToyHandler, "inspect", fail)
    with pytest.raises(CorruptPageError):
        pads.dataset(path, format=toy_format())
    monkeypatch.setattr(ToyHandler, "supports", fail)
    with pytest.raises(CorruptPageError):
        pads.dataset(path, format=toy_format(), exclude_invalid_files=True)


def test_the_first_error_in_row_order_wins_and_nothing_runs_on(path: str) -> None:
    def fail(index: int) -> None:
        if index >= 3:
            time.sleep(0.05 if index == 3 else 0)
            raise OddError(index)

    dataset, log = dataset_of(path, on_run=fail)
    with pytest.raises(OddError) as caught:
        dataset.to_table(batch_readahead=8)
    assert caught.value.args == (3,)
    assert log.running == 0
    num_started = len(log.started)
    assert num_started <= 3 + 8
    time.sleep(0.05)
    assert len(log.started) == num_started


def test_the_caller_gets_an_error_when_nothing_runs_any_more(path: str) -> None:
    def fail_first(index: int) -> None:
        if index == 0:
            wait_until(lambda: log.running > 1)
            raise OddError
        time.sleep(0.3)

    before = pa.cpu_count()
    pa.set_cpu_count(4)
    try:
        dataset, log = dataset_of(path, on_run=fail_first)
        with pytest.raises(OddError):
            dataset.to_table()
        assert log.running == 0
        assert len(log.started) <= 16
    finally:
        pa.set_cpu_count(before)


def test_counts_run_in_the_thread_that_waits_for_them(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def count(handler: ToyHandler, place: FilePlace, request: ScanRequest) -> int:
        threads.append(threading.get_ident())
        return 7

    dataset, _ = dataset_of(path)
    monkeypatch.setattr(ToyHandler, "count_rows", count)
    assert dataset.count_rows() == dataset.count_rows(use_threads=False) == 7
    assert threads == [threading.get_ident()] * 2


def test_an_interrupt_ends_a_count(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> int:
        signal.raise_signal(signal.SIGINT)
        # Python handles it in the main thread alone, before it goes on there.
        return 7

    dataset, _ = dataset_of(path)
    monkeypatch.setattr(ToyHandler, "count_rows", interrupted)
    # Whoever runs tests in several processes may have them ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            dataset.count_rows()
    finally:
        signal.signal(signal.SIGINT, before)


def test_handlers_that_break_the_agreement_are_our_bug(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge_toys.ToyTasks.run", lambda self, index: [self.reader.get_batch(index)])
    dataset, _ = dataset_of(path)
    with pytest.raises(InternalError, match="2 rows, above 1"):
        dataset.to_table(batch_size=1)
    monkeypatch.setattr("bridge_toys.ToyTasks.run", lambda self, index: [None])
    with pytest.raises(InternalError, match="NoneType"):
        dataset.to_table()
    monkeypatch.setattr(ToyHandler, "inspect", lambda self, place: None)
    with pytest.raises(InternalError, match="NoneType"):
        toy_format().inspect(path)


def test_tasks_without_batches_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    num_rows = 20_000  # so many that recursion would overflow the stack
    write_toy(tmp_path / "f.toy", pa.table({"a": list(range(num_rows))}), rows_per_batch=1)
    dataset, _ = dataset_of(str(tmp_path / "f.toy"))
    last = num_rows - 1
    monkeypatch.setattr(
        "bridge_toys.ToyTasks.run", lambda self, index: [self.reader.get_batch(index)] if index == last else []
    )
    assert dataset.to_table(use_threads=False).column("a").to_pylist() == [last]
    assert dataset.to_table().column("a").to_pylist() == [last]


def test_an_abandoned_scan_starts_no_more_tasks(path: str) -> None:
    dataset, log = dataset_of(path, delay_seconds=0.01)
    batches = dataset.to_batches(batch_readahead=4)
    next(batches)
    del batches
    wait_until(lambda: log.running == 0)
    time.sleep(0.1)
    num_started = len(log.started)
    assert num_started < NUM_TASKS
    time.sleep(0.1)
    assert len(log.started) == num_started


def test_tasks_waiting_for_a_thread_do_not_begin_once_abandoned(path: str, one_cpu: None) -> None:
    dataset, log = dataset_of(path, delay_seconds=0.05)
    batches = dataset.to_batches(batch_readahead=16)
    next(batches)
    num_started = len(log.started)
    del batches
    time.sleep(0.05 * 16)
    # Arrow lets go after the few batches it has asked for; 16 tasks were waiting.
    assert len(log.started) < num_started + 10


@pytest.mark.parametrize("use_threads", [False, True])
def test_plans_and_tasks_may_have_arrow_use_its_threads(tmp_path: Path, one_cpu: None, use_threads: bool) -> None:
    """Arrow holds a lock while it asks for one file after another; its threads wait for that with what they have."""
    sink = pa.BufferOutputStream()
    compressed = pa.table({str(number): list(range(1000)) for number in range(8)})
    with pa.ipc.new_file(sink, compressed.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(compressed)
    content = sink.getvalue()

    def use_arrow(*_: object) -> None:
        assert pa.ipc.open_file(pa.BufferReader(content)).read_all().equals(compressed)

    paths = [str(tmp_path / f"{number}.toy") for number in range(20)]
    for path in paths:
        write_toy(path, pa.table({"a": [1, 2]}), rows_per_batch=2)
    dataset = pads.dataset(paths, format=toy_format(on_plan=use_arrow, on_run=use_arrow))
    for _ in range(20):
        assert within(60, lambda: dataset.to_table(use_threads=use_threads).num_rows) == 40
        assert within(60, lambda: dataset.count_rows(use_threads=use_threads)) == 40


def test_a_scan_inside_every_task_finishes(path: str, one_cpu: None) -> None:
    def nested(_: int) -> None:
        assert dataset_of(path)[0].to_table().num_rows == 2 * NUM_TASKS
        assert dataset_of(path)[0].to_table(use_threads=False).num_rows == 2 * NUM_TASKS

    dataset, _ = dataset_of(path, on_run=nested)
    assert within(60, lambda: dataset.to_table().num_rows) == 2 * NUM_TASKS


@pytest.mark.parametrize("num_threads", [1, 2, 3])
def test_more_nested_scans_than_threads_finish(path: str, num_threads: int) -> None:
    """All outer tasks sit in the callback at once, each waiting for a scan of its own."""
    before = pa.cpu_count()
    pa.set_cpu_count(num_threads)
    everyone = threading.Barrier(num_threads + 1, timeout=30)

    def nested(index: int) -> None:
        if index == 0:
            everyone.wait()
            dataset_of(path)[0].to_table()

    outer = [dataset_of(path, on_run=nested)[0] for _ in range(num_threads + 1)]
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda scan=scan: results.append(scan.to_table().num_rows), daemon=True)
        for scan in outer
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        pa.set_cpu_count(before)
    assert results == [2 * NUM_TASKS] * (num_threads + 1)


def test_scans_nest_deeply(path: str, one_cpu: None) -> None:
    def descend(depth: int) -> int:
        def nested(index: int) -> None:
            if index == 0 and depth > 0:
                descend(depth - 1)

        return dataset_of(path, on_run=nested)[0].to_table().num_rows

    assert within(60, lambda: descend(12)) == 2 * NUM_TASKS


def test_nothing_is_leaked_by_many_scans(path: str) -> None:
    handler = ToyHandler()
    dataset = pads.dataset(path, format=ToyFormat(handler))
    dataset.to_table()
    alive_before = pa.total_allocated_bytes()
    for number in range(200):
        dataset.to_table(use_threads=number % 2 == 0)
        next(iter(dataset.to_batches()))
    handler.log.requests.clear()
    handler.log.places.clear()
    wait_until(lambda: pa.total_allocated_bytes() <= alive_before)
