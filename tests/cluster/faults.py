"""Faults on a cluster: rows are there exactly once, nothing is lost, and cleanup finds the files that are left over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from processes import Driver, DriverError
from storage import Request, Rule, is_data, is_manifest, wait
from world import World, check, equal

ROWS = 4000


def python_worker_writing(world: World) -> str:
    """The Python process of a task is killed while it writes a data file."""
    uri = _base(world, "python_worker_writing")
    killed: list[int] = []

    def kill(request: Request) -> int:
        client = request.client()
        assert client is not None
        killed.append(client.pid)
        client.kill()
        return 503

    with world.storage.rule(Rule(is_data, before=kill, times=1)):
        world.write(uri, 100, ROWS)
    check(killed, "nothing was killed")
    world.holds(uri, range(ROWS), version=2)
    return f"1 process killed, {world.orphans(uri)} orphans"


def worker_writing(world: World) -> str:
    """A worker and all its processes are killed when it has written a data file and before its task ends."""
    uri = _base(world, "worker_writing")
    with world.storage.rule(Rule(is_data, after=_kill_worker(world), times=1)) as rule:
        world.driver.begin("write", uri=uri, start=100, stop=ROWS, parts=4, **world.options)
        check(wait(lambda: len(world.cluster.workers) == 1), "no worker was killed")
        world.cluster.add_worker()
        world.driver.answer()
    check(rule.seen, "nothing was written")
    world.holds(uri, range(ROWS), version=2)
    world.ready()
    return f"1 worker killed, {world.orphans(uri, least=1)} orphans"


def worker_during_commit(world: World) -> str:
    """A worker is killed while the driver commits."""
    uri = _base(world, "worker_during_commit")

    def kill(request: Request) -> None:
        del request
        # The driver asks, not the worker: any will do.
        world.cluster.kill_worker(world.cluster.workers[0])

    with world.storage.rule(Rule(is_manifest, before=kill, times=1)):
        world.write(uri, 100, ROWS)
    equal(len(world.cluster.workers), 1, "workers that are left")
    world.holds(uri, range(ROWS), version=2)
    world.cluster.add_worker()
    world.ready()
    return f"1 worker killed, {world.orphans(uri)} orphans"


def worker_in_a_stream(world: World) -> str:
    """A worker is killed in the middle of a streaming query, after a data file of its third micro-batch."""
    source, sink = _source(world, "worker_in_a_stream")

    driver = world.driver
    commits = Rule(lambda request: is_manifest(request) and "/to/" in request.key)

    def third(request: Request) -> bool:
        return is_data(request) and "/to/" in request.key and len(commits.seen) >= 2

    with world.storage.rule(commits), world.storage.rule(Rule(third, after=_kill_worker(world), times=1)):
        driver.begin("stream", **_stream(world, source, sink))
        check(wait(lambda: len(world.cluster.workers) == 1), "no worker was killed")
        world.cluster.add_worker()
        driver.answer()
    table = world.holds(sink, range(ROWS))
    world.ready()
    return f"1 worker killed, {table.version} versions, {world.orphans(sink, least=1)} orphans"


def killing(driver: Driver) -> Callable[[Request], int]:
    """Return what kills a driver at its own request, which is answered by 503."""

    def kill(request: Request) -> int:
        del request
        driver.kill()
        return 503

    return kill


def driver_in_a_stream(world: World) -> str:
    """The driver is killed when a micro-batch is committed and the checkpoint does not have that; started again."""
    source, sink = _source(world, "driver_in_a_stream")

    commits = Rule(lambda request: is_manifest(request) and "/to/" in request.key)

    def second(request: Request) -> bool:
        return is_manifest(request) and "/to/" in request.key and len(commits.seen) == 2

    driver = world.driver
    with world.storage.rule(commits), world.storage.rule(Rule(second, after=killing(driver), times=1)):
        driver.begin("stream", **_stream(world, source, sink))
        check(wait(lambda: driver.process.poll() is not None), "the driver was not killed")
    before = world.storage.table(sink).version
    equal(before, 2, "version when the driver died")
    world.driver.call("stream", **_stream(world, source, sink))
    table = world.holds(sink, range(ROWS))
    return f"killed after version {before}, {table.version} versions, {world.orphans(sink)} orphans"


def driver_before_commit(world: World) -> str:
    """The driver is killed when all tasks have written and nothing is committed; the job is run again."""
    uri = _base(world, "driver_before_commit")
    driver = world.driver

    with world.storage.rule(Rule(is_manifest, before=killing(driver), times=1)):
        driver.begin("write", uri=uri, start=100, stop=ROWS, parts=4, **world.options)
        check(wait(lambda: driver.process.poll() is not None), "the driver was not killed")
    world.holds(uri, range(100), version=1)
    orphans = world.orphans(uri, least=4)
    world.write(uri, 100, ROWS)
    world.holds(uri, range(ROWS), version=2)
    return f"{orphans} orphans, the second run made version 2"


def driver_after_commit(world: World) -> str:
    """The driver is killed when the version is there, before it gets the answer: the table has the rows once."""
    uri = _base(world, "driver_after_commit")
    driver = world.driver

    with world.storage.rule(Rule(is_manifest, after=killing(driver), times=1)):
        driver.begin("write", uri=uri, start=100, stop=ROWS, parts=4, jobName="once", **world.options)
        check(wait(lambda: driver.process.poll() is not None), "the driver was not killed")
    world.holds(uri, range(ROWS), version=2)
    equal(world.orphans(uri), 0, "orphans")
    return "version 2 is there, 0 orphans"


def lost_answer(world: World) -> str:
    """Storage makes the version and answers 503: the retried request finds it, and it counts once."""
    uri = _base(world, "lost_answer")
    with world.storage.rule(Rule(is_manifest, after=lambda _: 503, times=1)) as rule:
        world.write(uri, 100, ROWS)
    equal(len(rule.seen), 1, "answers lost")
    world.holds(uri, range(ROWS), version=2)
    equal(world.orphans(uri), 0, "orphans")
    return "version 2, 0 orphans"


def outage(world: World) -> str:
    """Storage answers 503 to everything for a time that begins when a task writes."""
    uri = _base(world, "outage")
    failed = ""
    refused = world.storage.refused
    with world.storage.unavailable(is_data, world.outage_seconds):
        try:
            world.write(uri, 100, ROWS)
        except DriverError as error:
            failed = str(error).splitlines()[0][:80]
            check(wait(lambda: not world.storage.is_out()), "the outage does not end")
    refused = world.storage.refused - refused
    check(refused, "nothing was refused")
    if failed:
        # A job that gives up leaves the table as it was; it is run again.
        world.holds(uri, range(100), version=1)
        world.write(uri, 100, ROWS)
    world.holds(uri, range(ROWS), version=2)
    how = f"the job failed ({failed}) and was run again" if failed else "the job went on"
    return f"{world.outage_seconds:g} s, {refused} requests refused, {how}, {world.orphans(uri)} orphans"


def outage_in_commit(world: World) -> str:
    """Storage answers 503 to everything for a time that begins when the driver commits."""
    uri = _base(world, "outage_in_commit")
    failed = ""
    refused = world.storage.refused
    with world.storage.unavailable(is_manifest, world.outage_seconds):
        try:
            world.write(uri, 100, ROWS)
        except DriverError as error:
            failed = str(error).splitlines()[0][:80]
            check(wait(lambda: not world.storage.is_out()), "the outage does not end")
    refused = world.storage.refused - refused
    check(refused, "nothing was refused")
    version = world.storage.table(uri).version
    if failed and version == 1:
        world.holds(uri, range(100))
        world.write(uri, 100, ROWS)
    world.holds(uri, range(ROWS), version=2)
    how = f"the job failed ({failed}) at version {version}" if failed else "the job went on"
    return f"{world.outage_seconds:g} s, {refused} requests refused, {how}, {world.orphans(uri)} orphans"


def speculation(world: World) -> str:
    """A slow task of a write is run a second time by speculation: both write, one counts."""
    world.stop_driver()
    with world.application("speculation", SPECULATION) as driver:
        uri = _base(world, "speculation", driver)
        with _slow_first_attempt(world) as attempts:
            driver.call("write", uri=uri, start=100, stop=ROWS, parts=8, **world.options)
            check(len(set(attempts)) > 1, f"no task was run twice: attempts {attempts}")
            # The slow attempt may write after the commit.
            time.sleep(2)
        world.holds(uri, range(ROWS), version=2)
    return f"{len(set(attempts))} attempts of one task wrote, {world.orphans(uri)} orphans"


def speculation_in_a_job(world: World) -> str:
    """A slow task of a compaction is run a second time by speculation: both write, one counts."""
    world.stop_driver()
    with world.application("speculation", SPECULATION) as driver:
        uri = _base(world, "speculation_in_a_job", driver)
        for number in range(5):
            given = {"start": 100 + 400 * number, "stop": 500 + 400 * number, "parts": 2}
            driver.call("write", uri=uri, **given, **world.options)
        begun: list[Request] = []

        def slow(request: Request) -> None:
            begun.append(request)
            if len(begun) == 1:
                # One file more than there are groups: another attempt of this task has come as far.
                wait(lambda: len(begun) > groups, HELD_SECONDS)

        groups = 6
        with world.storage.rule(Rule(is_data, before=slow)):
            report = driver.call(
                "job", job="compact", uri=uri, target_rows_per_fragment=400, storage_options=world.storage.options
            )
            time.sleep(2)
        equal(report["counts"]["fragments_made"], groups, "fragments made")
        check(len(begun) > groups, "no task was run twice")
        world.holds(uri, range(2100))
    return f"{len(begun)} files written for {groups} fragments, {world.orphans(uri)} orphans"


def two_jobs(world: World) -> str:
    """Two applications append at once: both want to make the same version, and both succeed, one after the other."""
    world.stop_driver()
    uri = world.uri("two_jobs", "t")
    with _two_applications(world) as (one, other):
        one.call("write", uri=uri, start=0, stop=100, **world.options)
        with _met(world) as asked:
            one.begin("write", uri=uri, start=100, stop=2000, parts=2, **world.options)
            other.begin("write", uri=uri, start=2000, stop=ROWS, parts=2, **world.options)
            for driver in (one, other):
                driver.answer()
    equal(asked[0].name, asked[1].name, "the version that both want")
    world.holds(uri, range(ROWS), version=3)
    equal(world.orphans(uri), 0, "orphans")
    return f"{len(asked)} commits asked for, 2 made, 0 orphans"


def append_and_compact(world: World) -> str:
    """An application appends while another one compacts: both succeed, and no row is lost."""
    world.stop_driver()
    uri = world.uri("append_and_compact", "t")
    with _two_applications(world) as (one, other):
        one.call("write", uri=uri, start=0, stop=2000, parts=6, **world.options)
        with _met(world):
            one.begin("job", job="compact", uri=uri, storage_options=world.storage.options)
            other.begin("write", uri=uri, start=2000, stop=ROWS, parts=2, **world.options)
            report = one.answer()
            other.answer()
    equal(report["counts"]["rows_written"], 2000, "compacted rows")
    table = world.holds(uri, range(ROWS))
    return f"{table.version} versions, {world.orphans(uri)} orphans"


# Less than clients wait for an answer.
HELD_SECONDS = 45
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "100ms",
}


def _base(world: World, name: str, driver: Driver | None = None) -> str:
    """Make a table of 100 rows."""
    uri = world.uri(name, "t")
    (driver or world.driver).call("write", uri=uri, start=0, stop=100, parts=1, **world.options)
    return uri


def _source(world: World, name: str) -> tuple[str, str]:
    """Make a table of 16 fragments for a stream; returns source and sink."""
    source = world.uri(name, "from")
    world.write(source, 0, ROWS, parts=16)
    return source, world.uri(name, "to")


def _stream(world: World, source: str, sink: str) -> dict[str, Any]:
    checkpoint = str(world.cluster.folder / "checkpoints" / source.split("/")[3])
    return {"source": source, "sink": sink, "checkpoint": checkpoint, "limit": 4, "options": world.options}


def _kill_worker(world: World) -> Callable[[Request], int]:
    """Return what kills the worker that asks, and lets nothing be answered."""

    def kill(request: Request) -> int:
        client = request.client()
        assert client is not None
        world.cluster.kill_worker_of(client)
        return 503

    return kill


@contextmanager
def _slow_first_attempt(world: World) -> Iterator[list[str]]:
    """Hold the first data file of partition 0 until another attempt has written it; yields attempts that wrote."""
    attempts: list[str] = []
    done: list[str] = []

    def attempt_of(request: Request) -> str:
        # job (a UUID), partition, attempt, number.
        return request.name.split("-")[6]

    def before(request: Request) -> None:
        attempts.append(attempt_of(request))
        if len(attempts) == 1:
            wait(lambda: any(one != attempts[0] for one in done), HELD_SECONDS)

    def after(request: Request) -> None:
        done.append(attempt_of(request))

    def slow(request: Request) -> bool:
        return is_data(request) and "-00000-" in request.name

    with world.storage.rule(Rule(slow, before=before, after=after)):
        yield attempts


@contextmanager
def _two_applications(world: World) -> Iterator[tuple[Driver, Driver]]:
    """Run two applications with a core each."""
    half = {"spark.cores.max": "1"}
    with world.application("job 1", half, executors=1) as one, world.application("job 2", half, executors=1) as other:
        yield one, other


@contextmanager
def _met(world: World) -> Iterator[list[Request]]:
    """Hold the first commit until another one is asked for; yields the commits."""
    asked: list[Request] = []

    def meet(request: Request) -> None:
        asked.append(request)
        wait(lambda: len(asked) >= 2, HELD_SECONDS)

    with world.storage.rule(Rule(is_manifest, before=meet)):
        yield asked


SCENARIOS: dict[str, Callable[[World], str]] = {
    one.__name__: one
    for one in (
        python_worker_writing, worker_writing, worker_during_commit, worker_in_a_stream, driver_in_a_stream,
        driver_before_commit, driver_after_commit, lost_answer, outage, outage_in_commit, speculation,
        speculation_in_a_job, two_jobs, append_and_compact,
    )
}  # fmt: skip
