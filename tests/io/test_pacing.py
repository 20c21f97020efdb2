"""The pace of a store is learned from its answers, and requests follow from it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from bucket_server import bucket

import lance_arrow
from lance_arrow.io.obstore_filesystem import as_filesystem
from lance_arrow.io.pacing.pace import USUAL_PACE, Pace, PaceMeter
from lance_arrow.io.pacing.policy import files_at_once, paced
from lance_arrow.io.source import THREADED_COALESCING
from lance_arrow.watching import receipts


def learned(latency: float, bandwidth: float, count: int = 20) -> Pace:
    meter = PaceMeter()
    for _ in range(count):
        meter.saw(4 << 10, latency + (4 << 10) / bandwidth)
        meter.saw(4 << 20, latency + (4 << 20) / bandwidth)
    return meter.pace


@pytest.mark.parametrize("latency", [0.005, 0.03, 0.1])
@pytest.mark.parametrize("bandwidth", [20e6, 90e6])
def test_latency_and_bandwidth_are_learned(latency: float, bandwidth: float) -> None:
    found = learned(latency, bandwidth)
    assert found.is_learned
    assert found.latency_seconds == pytest.approx(latency, rel=0.1)
    assert found.bytes_per_second == pytest.approx(bandwidth, rel=0.1)


def test_one_answer_and_slow_ones_tell_nothing() -> None:
    meter = PaceMeter()
    assert meter.pace == USUAL_PACE
    meter.saw(100, 0.4)
    meter.saw(8 << 20, 10.0)
    assert meter.pace == USUAL_PACE
    for seconds in (0.012, 0.3, 0.2):
        meter.saw(100, seconds)
    assert meter.pace.latency_seconds == pytest.approx(0.012)


def test_answers_of_many_requests_at_once_tell_no_latency() -> None:
    meter = PaceMeter()
    for _ in range(20):
        meter.saw(100, 0.5, num_together=64)
    assert meter.pace == USUAL_PACE


def test_a_store_that_became_slower_is_noticed() -> None:
    meter = PaceMeter()
    for seconds in [0.01] * 30 + [0.2] * 16:
        meter.saw(100, seconds)
    assert meter.pace.latency_seconds == pytest.approx(0.2)


@pytest.mark.parametrize(("seconds", "bounded"), [(1e-9, 1e-3), (60.0, 0.5)])
def test_what_is_learned_is_bounded(seconds: float, bounded: float) -> None:
    meter = PaceMeter()
    for _ in range(4):
        meter.saw(1, seconds)
    assert meter.pace.latency_seconds == bounded


def test_as_many_files_are_asked_for_as_can_be_handled_meanwhile() -> None:
    counts = [files_at_once(Pace(latency, 90e6)) for latency in (1e-3, 0.005, 0.03, 0.1, 0.5)]
    assert counts == sorted(counts)
    assert counts[0] == counts[1] < counts[2] < counts[3]
    assert 110 <= counts[2] <= 130
    assert counts[-1] <= 256


def test_requests_are_as_large_as_a_connection_carries_soon() -> None:
    assert paced(THREADED_COALESCING, USUAL_PACE).max_span_bytes == THREADED_COALESCING.max_span_bytes
    slow = paced(THREADED_COALESCING, Pace(0.03, 20e6))
    assert slow.max_span_bytes == slow.whole_bytes < THREADED_COALESCING.max_span_bytes
    assert slow.pace == Pace(0.03, 20e6)


def test_rows_are_guessed_where_a_wave_takes_longer_than_their_bytes() -> None:
    assert paced(THREADED_COALESCING, Pace(0.005, 20e6)).guesses_rows
    assert not paced(THREADED_COALESCING, Pace(0.001, 20e6)).guesses_rows


def test_reports_and_plans_tell_the_pace(tmp_path: Path) -> None:
    lance_arrow.write_table(pa.table({"x": range(100_000)}), tmp_path / "f.lance")
    with bucket(tmp_path, seconds=0.05) as server:
        store = server.store()
        for _ in range(3):
            lance_arrow.LanceFile("f.lance", filesystem=store).close()
        assert 0.04 < as_filesystem(store).meter.pace.latency_seconds < 0.2
        with receipts() as found:
            lance_arrow.LanceFile("f.lance", filesystem=store).read()
        assert found.total.store is not None
        assert "(learned)" in found.total.store
        assert "learned" in str(lance_arrow.dataset("f.lance", filesystem=store).explain())
    with receipts() as found:
        lance_arrow.LanceFile(tmp_path / "f.lance").read()
    assert found.total.store is None
    assert "learned" not in str(lance_arrow.dataset(tmp_path / "f.lance").explain())
