"""`lance-arrow advise`: the options that it prints write what it says; refusals, objectives, private codecs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from outside import install, run_command

import lance_arrow
from lance_arrow.cli.advising import advice
from lance_arrow.cli.advising.trials import Refusal, Trial, try_options
from lance_arrow.errors import InternalError

NUM_ROWS = 5000


def rows() -> pa.Table:
    random = np.random.default_rng(3)
    return pa.table(
        {
            "noise": random.integers(0, 1 << 62, NUM_ROWS),
            "flag": random.random(NUM_ROWS) < 0.02,
            "level": 20 + (np.arange(NUM_ROWS) + random.integers(0, 3, NUM_ROWS)) / 8192,
            "text": [f"city {number}" for number in random.integers(0, 300, NUM_ROWS)],
            "list": [[number % 7] * (number % 3) for number in range(NUM_ROWS)],
            "struct": [{"a": number, "b": None} for number in range(NUM_ROWS)],
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("advise")
    lance_arrow.write_table(rows(), folder / "rows.lance")
    pq.write_table(rows(), folder / "rows.parquet")
    with pa.ipc.new_file(str(folder / "rows.arrow"), rows().schema) as file:
        file.write_table(rows())
    return folder


def run_python(report: dict[str, Any], path: Path) -> None:
    """Run what was printed, in `path` instead of where it says."""
    exec(report["python"].replace('"new.lance"', repr(str(path))), {"lance_arrow": lance_arrow, "table": rows()})


@pytest.mark.parametrize("name", ["rows.lance", "rows.parquet", "rows.arrow"])
def test_the_printed_options_write_what_was_measured(
    command: Callable[..., Any], folder: Path, tmp_path: Path, name: str
) -> None:
    report = command("advise", str(folder / name), "--json").document
    assert report["num_rows"] == NUM_ROWS
    assert [one["column"] for one in report["columns"]] == rows().column_names
    best = {one["column"]: one["best"] for one in report["columns"]}
    assert report["column_options"] == {key: one["options"] for key, one in best.items() if one["options"]}
    assert best["level"]["num_bytes"] < report["columns"][2]["default"]["num_bytes"]
    assert best["noise"]["options"] == {}
    run_python(report, tmp_path / "new.lance")
    written = command("inspect", str(tmp_path / "new.lance"), "--json").document
    for leaf in written["columns"]:
        if leaf["path"] in ("noise", "flag", "level", "text"):
            assert sum(page["size_bytes"] for page in leaf["pages"]) == best[leaf["path"]]["num_bytes"]
    assert lance_arrow.read_table(tmp_path / "new.lance").equals(rows())


def test_text_has_the_options_to_paste(command: Callable[..., Any], folder: Path) -> None:
    out = command("advise", str(folder / "rows.parquet"), "-c", "level,noise", "-n", "2000").out
    assert "2,000 rows of 2 columns tried with Lance 2.2, for size" in out
    assert "column_options = {\n    'level': {" in out
    assert 'lance_arrow.write_table(table, "new.lance", file_version="2.2", column_options=column_options)' in out


@pytest.mark.parametrize("name", ["rows.lance", "rows.parquet", "rows.arrow"])
def test_large_rows_make_a_small_sample(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(advice, "_MOST_BYTES", 8000)
    found = advice._sample(str(folder / name), ["noise"], 4000, None)
    # Arrays may have a bitmap of validity, which counts.
    assert 900 < found.num_rows <= 1000
    assert found.equals(rows().select(["noise"]).slice(0, found.num_rows))
    monkeypatch.setattr(advice, "_MOST_BYTES", 1)
    assert advice._sample(str(folder / name), ["text"], 4000, None).num_rows == 1
    monkeypatch.undo()
    assert advice._sample(str(folder / name), ["text"], 4000, None).equals(rows().select(["text"]).slice(0, 4000))


def trial(**words: Any) -> Trial:
    known = {"options": {}, "codecs": ["flat"], "num_bytes": 100, "write_ms": 1.0, "scan_ms": 1.0, "take_ms": 1.0}
    return Trial(**{**known, **words})


@pytest.mark.parametrize(
    ("objective", "expected"),
    [("size", {"codec": "small"}), ("scan", {"codec": "quick"}), ("take", {})],
)
def test_the_objective_decides_and_the_default_wins_ties(objective: str, expected: dict[str, str]) -> None:
    trials = [
        trial(take_ms=0.55),
        trial(options={"codec": "small"}, codecs=["a"], num_bytes=50, scan_ms=2.0),
        trial(options={"codec": "tiny"}, codecs=["b"], num_bytes=49.9, scan_ms=9.0),
        trial(options={"codec": "quick"}, codecs=["c"], num_bytes=90, scan_ms=0.51),
        trial(options={"codec": "quickest"}, codecs=["d"], num_bytes=95, scan_ms=0.5, take_ms=0.5),
    ]
    found = advice._advice(pa.field("c", pa.int32()), trials, objective)
    assert found.best.options == expected
    assert found.default is trials[0]


def test_options_that_change_nothing_are_the_default() -> None:
    same = trial(options={"codec": "flat"}, scan_ms=0.1)
    found = advice._advice(pa.field("c", pa.int32()), [trial(), same], "scan")
    assert [one.options for one in found.trials] == [{}]


def test_options_that_do_not_fit_are_refused_with_a_reason(tmp_path: Path) -> None:
    found = try_options(rows().select(["text"]), {"codec": "range"}, tmp_path, file_version="2.2", rows=[0])
    assert isinstance(found, Refusal)
    assert found.reason
    assert not list(tmp_path.iterdir())


def test_values_that_arrow_does_not_call_equal(tmp_path: Path) -> None:
    words = pa.array(["b", "a", None, "b"] * 100).dictionary_encode()
    table = pa.table({"nan": [1.0, math.nan] * 200, "words": words, "list": [[math.nan], None] * 200})
    pq.write_table(table, tmp_path / "a.parquet")
    report = advice.advise(str(tmp_path / "a.parquet"))
    assert [one.column for one in report.columns] == table.column_names


def test_a_broken_codec_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lance_arrow.LanceFile, "read", lambda _: pa.table({"flag": [True]}))
    with pytest.raises(InternalError, match="column 'flag' reads back differently"):
        try_options(rows().select(["flag"]), {}, tmp_path, file_version="2.2", rows=[0])


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["rows.lance", "--objective", "speed"], 2, "'speed' is not one of size, scan, take"),
        (["rows.lance", "-c", "flags"], 1, "did you mean 'flag'?"),
        (["rows.lance", "--file-version", "2.0"], 1, "expected one of 2.1, 2.2, 2.3"),
        (["nothing.lance"], 1, "nothing.lance"),
        (["empty.parquet"], 1, "no rows"),
    ],
)
def test_wrong_words(command: Callable[..., Any], folder: Path, words: list[str], code: int, said: str) -> None:
    pq.write_table(rows().slice(0, 0), folder / "empty.parquet")
    outcome = command("advise", str(folder / words[0]), *words[1:])
    assert outcome.code == code
    assert said in outcome.err


def test_codecs_of_strangers_are_tried_on_request(folder: Path, tmp_path: Path) -> None:
    site = install("shuffled", tmp_path / "site")
    line = [sys.executable, "-m", "lance_arrow.cli", "advise", str(folder / "rows.lance"), "-c", "level,text", "--json"]
    report = json.loads(run_command(line, site, {}).stdout)
    assert report["not_tried"] == ["example.shuffled/1"]
    assert "codec" not in report["column_options"].get("level", {})
    report = json.loads(run_command([*line, "--private"], site, {}).stdout)
    assert report["not_tried"] == []
    assert report["column_options"]["level"] == {"codec": "example.shuffled/1", "dtype": "float64"}
    assert "allow_private_encodings=True" in report["python"]
