"""Exit codes, where ``--json`` may stand, and what a failure looks like."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import typer
from witness import Witness

from lance_arrow.cli import file_view, plugin_view
from lance_arrow.cli.app import app
from lance_arrow.cli.words import ELSEWHERE, SAME
from lance_arrow.errors import CorruptPageError

ERROR_FIELDS = ["type", "message", "path", "column", "page", "byte_range"]


@pytest.fixture(scope="module")
def small(witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = pa.table({"id": pa.array(range(100)), "name": [f"name {i % 3}" for i in range(100)]})
    return witness.write(table, tmp_path_factory.mktemp("app") / "small.lance", "2.1")


def with_version(path: Path, target: Path, major: int, minor: int) -> Path:
    data = bytearray(path.read_bytes())
    struct.pack_into("<HH", data, len(data) - 8, major, minor)
    target.write_bytes(data)
    return target


@pytest.mark.parametrize("place", [0, 1, 2], ids=["first", "middle", "last"])
def test_json_may_stand_anywhere(command: Callable[..., Any], small: Path, place: int) -> None:
    arguments = ["schema", str(small)]
    arguments.insert(place, "--json")
    outcome = command(*arguments)
    assert (outcome.code, outcome.err) == (0, "")
    assert [field["name"] for field in outcome.document["fields"]] == ["id", "name"]


def test_json_after_two_dashes_is_a_file(command: Callable[..., Any]) -> None:
    outcome = command("schema", "--", "--json")
    assert outcome.code == 1
    assert outcome.out == ""
    assert "/--json'" in outcome.err


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["inspect"],
        ["no-such-command"],
        ["inspect", "--no-such-option", "x"],
        ["head", "-n", "-1", "x"],
        ["head", "-n", "many", "x"],
        ["schema", "one", "two"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_2(command: Callable[..., Any], arguments: list[str], as_json: bool) -> None:
    outcome = command(*arguments, *["--json"] * as_json)
    assert outcome.code == 2
    assert outcome.err.startswith("lance-arrow: ")
    assert outcome.err.count("\n") == 1
    if as_json:
        assert list(outcome.document) == ["error"]
        assert list(outcome.document["error"]) == ERROR_FIELDS
        assert outcome.document["error"]["type"] == "UsageError"
    else:
        assert outcome.out == ""


@pytest.mark.parametrize("command_name", ["inspect", "schema", "head"])
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize(
    ("fault", "error_type"),
    [
        ("missing", "FileNotFoundError"),
        ("directory", "TableNotFoundError"),
        ("empty", "CorruptFileError"),
        ("text", "CorruptFileError"),
        ("truncated", "CorruptFileError"),
        ("future", "UnsupportedError"),
        ("first generation", "CorruptFileError"),
    ],
)
def test_failures_exit_1(
    command: Callable[..., Any],
    small: Path,
    tmp_path: Path,
    command_name: str,
    as_json: bool,
    fault: str,
    error_type: str,
) -> None:
    path = tmp_path / "file.lance"
    data = small.read_bytes()
    if fault == "directory":
        path.mkdir()
    elif fault == "future":
        with_version(small, path, 9, 9)
    elif fault == "first generation":
        with_version(small, path, 0, 2)
    elif fault != "missing":
        path.write_bytes({"empty": b"", "text": b"id,name\n" * 50, "truncated": data[: len(data) // 2]}[fault])
    outcome = command(command_name, path, *["--json"] * as_json)
    assert outcome.code == 1
    assert "Traceback" not in outcome.err
    assert outcome.err.startswith("lance-arrow: ")
    assert outcome.err.count("\n") == 1
    assert str(path) in outcome.err
    if as_json:
        error = outcome.document["error"]
        assert list(error) == ERROR_FIELDS
        assert (error["type"], error["path"]) == (error_type, str(path))
    else:
        assert outcome.out == ""


def test_unknown_column_exits_1(command: Callable[..., Any], small: Path) -> None:
    for name in ("inspect", "head"):
        outcome = command(name, small, "--columns", "id,nobody", "--json")
        assert outcome.code == 1
        assert outcome.document["error"]["type"] == "InvalidArgumentError"
        assert "nobody" in outcome.err


def test_unknown_protocol_exits_1(command: Callable[..., Any]) -> None:
    outcome = command("schema", "nowhere://bucket/file.lance", "--json")
    assert outcome.code == 1
    assert outcome.document["error"]["type"] == "ValueError"


def test_place_of_an_error(command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(file: str, storage_options: None) -> None:
        raise CorruptPageError("bad\x1b[31m", path=file, column="a.b", page=3, byte_range=(64, 128))

    monkeypatch.setattr(file_view, "view_schema", fail)
    outcome = command("schema", "x.lance", "--json")
    assert outcome.code == 1
    assert outcome.document == {
        "error": {
            "type": "CorruptPageError",
            "message": "bad\x1b[31m",
            "path": "x.lance",
            "column": "a.b",
            "page": 3,
            "byte_range": [64, 128],
        }
    }
    assert outcome.err == "lance-arrow: bad\\x1b[31m [column 'a.b', page 3, bytes 64..128, file 'x.lance']\n"


def test_interrupt_exits_130_quietly(command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(file: str, storage_options: None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(file_view, "view_schema", interrupt)
    for flags in ([], ["--json"]):
        outcome = command("schema", "x.lance", *flags)
        assert (outcome.code, outcome.out, outcome.err) == (130, "", "")


def test_chatter_stays_out_of_the_document(command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def chatter() -> Any:
        print("a plugin says hello")
        return plugin_view.PluginsReport(plugins=[], conflict=None)

    monkeypatch.setattr(plugin_view, "view_plugins", chatter)
    outcome = command("plugins", "--json")
    assert outcome.document == {"plugins": [], "conflict": None}
    assert outcome.err == "a plugin says hello\n"


def test_help(command: Callable[..., Any]) -> None:
    names = ["inspect", "schema", "head", "plugins", "demo"]
    outcome = command("--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert all(name in outcome.out for name in [*names, "--json"])
    outcome = command("head", "--json", "--help")
    assert outcome.code == 0
    assert "--columns" in outcome.document["help"]


def test_urls(command: Callable[..., Any], small: Path) -> None:
    for url in (small.as_uri(), f"simplecache::{small.as_uri()}"):
        outcome = command("schema", url, "--json")
        assert outcome.code == 0, outcome.err
        assert outcome.document["num_rows"] == 100


@pytest.mark.parametrize("line", ["plugins", "plugins --matrix"])
def test_summaries_fit_eighty_columns_unless_wide(
    command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    narrow, wide = command(*line.split()).out, command(*line.split(), "--wide").out
    assert max(map(len, narrow.splitlines())) <= 80 < max(map(len, wide.splitlines()))
    assert "not shown: " in narrow
    assert "(--wide shows all)" in narrow
    assert "not shown" not in wide
    assert "distribution" in wide.splitlines()[0]


@pytest.mark.parametrize(
    ("line", "same"),
    [("info FILE", "inspect FILE"), ("columns FILE", "schema FILE"), ("zones list FILE", "zones show FILE")],
)
def test_words_of_other_tools_run_the_command(command: Callable[..., Any], small: Path, line: str, same: str) -> None:
    one, other = (command(*text.replace("FILE", str(small)).split()) for text in (line, same))
    assert (one.code, one.out) == (other.code, other.out) == (0, one.out)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("zones show FILE price", "columns are chosen by --column price"),
        ("head FILE a b", "columns are chosen by --columns a,b"),
        ("head FILE 3", "a version of a table is chosen by --version 3"),
        ("history FILE", "it is lance-arrow table log"),
        ("table head FILE", "it is lance-arrow head"),
        ("version", "it is lance-arrow --version"),
        ("verifi FILE", "Did you mean 'verify'"),
    ],
)
def test_wrong_words_are_answered_with_the_right_ones(
    command: Callable[..., Any], small: Path, line: str, said: str
) -> None:
    outcome = command(*line.replace("FILE", str(small)).split())
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err


def test_words_mean_commands_that_there_are() -> None:
    groups = {"": set(), "plugins": set(), "table": set(), "zones": set()}
    root = typer.main.get_command(app)
    groups[""] = set(root.commands)
    for name in ("plugins", "table", "zones"):
        groups[name] = set(root.commands[name].commands)
    for group, words in SAME.items():
        assert set(words.values()) <= groups[group]
        assert not set(words) & groups[group]
    for group, words in ELSEWHERE.items():
        assert not set(words) & groups[group]
        for word, line in words.items():
            first, *rest = line.format(word=word).split()
            assert first.startswith("--") or first in groups[""]
            assert not rest or rest[0] in groups[first]


def test_matrix_as_text_and_as_json(command: Callable[..., Any]) -> None:
    lines = command("plugins", "--matrix", "--wide").out.splitlines()
    assert lines[0].split() == ["codec", "mini-block", "block", "per-value", "plugin", "distribution"]
    flat = next(line for line in lines if line.startswith("flat "))
    assert flat.split("  ")[0] == "flat"
    assert flat.count("read, 2.1") == 3
    document = command("--json", "plugins", "--matrix").document
    row = next(row for row in document["codecs"] if row["key"].endswith("/rle"))
    assert row["contexts"]["block"] == {"is_read": True, "since": "2.2"}
    assert row["contexts"]["per-value"] == {"is_read": False, "since": None}
