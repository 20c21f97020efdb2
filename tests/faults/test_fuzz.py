"""The short form of `fuzz.py`: some damaged files of every layout and codec, the same at every run; it can fail."""

from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import flipped
import forged
import fuzz
import fuzz_damage
import numpy as np
import pyarrow as pa
import pytest
from fuzz_runs import Run
from witness import Witness

import lance_arrow
from lance_arrow import LanceFile
from lance_arrow.proto import table_pb2, transaction_pb2
from lance_arrow.runtime import Runtime

CASES, CASES_EVERY_DAY = 10_000, 400


@pytest.mark.interop
def test_damaged_files_give_rows_or_a_lance_error(witness: Witness, tmp_path: Path, whole_run: bool) -> None:
    cases = CASES if whole_run else CASES_EVERY_DAY
    assert (
        fuzz.write_seeds(
            tmp_path, witness, versions=("2.0", "2.1", "2.3"), nulls_of=("some",), small_every=7 if whole_run else 21
        )
        > 100
    )
    make = functools.partial(fuzz.make, tmp_path, 2024)
    found = Run(Path(fuzz.__file__), tmp_path, make, 2024, cases, 200).all()
    outcomes = found.outcomes
    assert not found.failures, json.dumps(found.failures[:3], indent=1)
    assert found.tried == cases
    assert outcomes["read"] > cases / 20
    assert outcomes["CorruptFileError"] + outcomes["CorruptPageError"] > cases / 5
    # Those that we wrote: other rows would be a failure.
    assert outcomes["ours noticed"] + outcomes["ours right"] == -(-cases // fuzz.OURS_EVERY)
    assert outcomes["ours noticed"] > cases / 5


@pytest.mark.parametrize("turn", [1, 2, 3, 5, 6, 7])
def test_a_take_that_differs_from_a_read_is_a_failure(
    turn: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, strict, number = forged.GOOD["ints"].build(), Runtime(fuzz.STRICT), turn * fuzz.OURS_EVERY
    assert fuzz.attempt_small(tmp_path / "file", content, strict, number) == "read"
    take = LanceFile.take

    def first_rows(self: LanceFile, rows: np.ndarray) -> pa.Table:
        return take(self, np.zeros_like(rows))

    monkeypatch.setattr(LanceFile, "take", first_rows)
    with pytest.raises(AssertionError, match="differs from the scan"):
        fuzz.attempt_small(tmp_path / "file", content, strict, number)


@pytest.mark.parametrize("number", range(6))
def test_other_rows_of_a_file_of_ours_are_a_failure(number: int, tmp_path: Path) -> None:
    whole, other = (flipped.Whole("numbers", "2.2", preset, is_small=True) for preset in ("fast", "default"))
    assert fuzz.judged(whole, tmp_path / "file", whole.content, number, is_large=False) == "ours right"
    with pytest.raises(AssertionError, match="other rows, or other errors"):
        fuzz.judged(whole, tmp_path / "file", other.content, number, is_large=True)


def test_numbers_that_their_type_does_not_allow_are_reported_by_verify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reads give them, as files hold them; another fault of the same rows is one."""
    path = tmp_path / "file.lance"
    wide = pa.array([123456789, 2], pa.decimal128(12, 2))
    rows = pa.table({
        "decimal": pa.Array.from_buffers(pa.decimal128(4, 2), 2, wide.buffers()),
        "time": pa.Array.from_buffers(pa.time32("s"), 2, pa.array([-1, 5], pa.int32()).buffers()),
    })  # fmt: skip
    lance_arrow.write_table(rows, path)

    def read() -> str:
        fuzz.check_values(lance_arrow.read_table(path))
        return "read"

    assert lance_arrow.read_table(path).equals(rows)
    # The file is removed with the outcome.
    content = path.read_bytes()
    assert fuzz._removed(path, read) == "reported by verify"
    path.write_bytes(content)
    monkeypatch.setattr(lance_arrow, "verify", lambda path: SimpleNamespace(ok=True))
    with pytest.raises(fuzz.OutsideTypeError):
        fuzz._removed(path, read)
    no_text = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"\xff\xff")]
    )
    with pytest.raises(pa.ArrowInvalid, match="UTF8"):
        fuzz.check_values(rows.append_column("text", no_text))


def test_the_target_of_libfuzzer_reads_its_seeds(tmp_path: Path) -> None:
    """`nox -s fuzz_native -- files` runs rarely: a name that it imports and that moved is noticed here."""
    script = Path(__file__).parents[1] / "native" / "fuzz" / "files.py"
    spec = importlib.util.spec_from_file_location("fuzzed_files", script)
    assert spec is not None
    assert spec.loader is not None
    target = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(target)
    assert target.write_seeds(tmp_path / "seeds") > 50
    for path in sorted((tmp_path / "seeds").iterdir()):
        target.read_one(path.read_bytes(), tmp_path / "input", Runtime(fuzz.STRICT))


@pytest.mark.parametrize("way", dict.fromkeys(fuzz_damage.WAYS), ids=lambda way: way.__name__)
def test_each_damage_can_be_done_to_what_an_earlier_one_left(way: Callable[..., tuple[bytes, str]]) -> None:
    for seed in range(50):
        for content in (b"", b"x"):
            made, what = way(content, np.random.default_rng(seed))
            assert isinstance(made, bytes)
            assert what


def test_an_empty_list_of_texts_bytes_or_numbers_grows() -> None:
    for made, name in (
        (transaction_pb2.Transaction.UpdateConfig(), "delete_keys"),
        (transaction_pb2.Transaction.Update(), "mem_wal_progress"),
        (table_pb2.DataFile(), "fields"),
    ):
        (one,) = [field for field in made.DESCRIPTOR.fields if field.name == name]
        for seed in range(20):
            empty = type(made)()
            fuzz_damage._repeated(empty, one, name, np.random.default_rng(seed))
            assert len(getattr(empty, name)) == 1
