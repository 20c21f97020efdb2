"""A slice of `nox -s together`: this package and the installed reference write tables by turns; and it can fail."""

from __future__ import annotations

import contextlib
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from breaks import BREAKS
from together import DifferentError, KeyTwiceError, Together
from turns import Ours, Theirs, Told, Writer
from witness import Witness

from lance_arrow.errors import CorruptManifestError

pytestmark = pytest.mark.interop
NUM_TABLES, NUM_TABLES_EVERY_DAY = 20, 3


def _write(writers: list[Writer], folder: Path, num_tables: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    for seed in range(num_tables):
        with contextlib.suppress(KeyTwiceError):
            Together(writers, folder / f"{seed}.lance", seed, counts).run()
    return counts


def test_tables_by_turns(witness: Witness, tmp_path: Path, whole_run: bool) -> None:
    num_tables = NUM_TABLES if whole_run else NUM_TABLES_EVERY_DAY
    counts = _write([Ours(), Theirs("installed", witness)], tmp_path, num_tables)
    assert counts["versions"] > 10 * num_tables
    assert counts["rows compared"] > 20 * num_tables
    # Operations that began before another's commit were among them.
    assert sum(count for name, count in counts.items() if name.endswith("refused")) > 0


class _Forgetful(Ours):
    """Deletes other rows than it is told to."""

    def act(self, told: Told) -> None:
        super().act({**told, "rest": told["rest"] + 1} if told["do"] == "delete" else told)


class _Blind(Ours):
    """Reads one row less."""

    def read(self, path: Path, version: int) -> pa.Table:
        return super().read(path, version).slice(1)


class _Lazy(Ours):
    """Says that an append is done, and does nothing."""

    def act(self, told: Told) -> None:
        if told["do"] != "append":
            super().act(told)


@pytest.mark.parametrize("wrong", [_Forgetful, _Blind, _Lazy])
def test_a_difference_is_found(tmp_path: Path, wrong: type[Ours]) -> None:
    one = wrong()
    one.name = "wrong"
    with pytest.raises(DifferentError):
        _write([one, Ours()], tmp_path, 5)


_EVERY_DAY = ("no conflict check",)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in _EVERY_DAY else pytest.mark.whole)
        for name in (*_EVERY_DAY, "a forgotten pair", "row ids given again", "restore that forgets")
    ],
)
def test_a_break_of_the_commit_path_is_found(witness: Witness, tmp_path: Path, name: str) -> None:
    with BREAKS[name].make(), pytest.raises((DifferentError, CorruptManifestError)):
        _write([Ours(), Theirs("installed", witness)], tmp_path, 4)
