"""The documentation runs: Python blocks of each page in order, commands too; quoted files are quoted exactly.

They run in a folder that `lance-arrow demo --keep` left. A Python block that cannot run begins with
``# not run: <reason>``; a block that shows a file with ``# file: <path>``.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from lance_arrow import LanceTable
from lance_arrow.cli.app import run
from lance_arrow.demo import flights

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page.relative_to(ROOT).as_posix()
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    if "decisions" not in page.parts
)
# These run in `nox -s engines`.
ENGINE_PAGES = {"docs/engines/ray.md", "docs/engines/hugging_face.md", "docs/how_to/train_with_pytorch.md"}
# These run in tests/spark/test_docs.py, beside the one Spark session; so do the README's blocks that begin with it.
SPARK_PAGES = {"docs/spark.md", "docs/how_to/stream_with_spark.md", "docs/coming_from/lance_spark.md"}
RUNNING = [
    page
    for page in PAGES
    if page not in SPARK_PAGES and (page not in ENGINE_PAGES or os.environ.get("LANCE_ARROW_ENGINES"))
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"# not run: \S+")
SPARK_BLOCK = "from pyspark.sql import SparkSession\n"
FILE = re.compile(r"# file: (\S+)\n")
LINK = re.compile(r"\]\(([^)#:]+)\)")


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int


def blocks(page: str, *languages: str) -> list[Block]:
    text = (ROOT / page).read_text()
    found = [Block(match[1], match[2], text[: match.start()].count("\n") + 2) for match in BLOCK.finditer(text)]
    return [block for block in found if block.language in languages]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `lance-arrow demo --keep` leaves, and nothing else."""
    folder = tmp_path_factory.mktemp("docs")
    flights.run(folder, engine="pyarrow")
    return folder


@pytest.fixture
def folder(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", [page for page in RUNNING if blocks(page, "python")])
def test_python_runs(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = ModuleType("example")
    monkeypatch.setitem(sys.modules, "example", example)
    for block in blocks(page, "python"):
        if NOT_RUN.match(block.text) or (page == "README.md" and block.text.startswith(SPARK_BLOCK)):
            continue
        # Blank lines in front: a failure shows the line of the page.
        code = compile("\n" * (block.line - 1) + block.text, str(ROOT / page), "exec", dont_inherit=True)
        exec(code, vars(example))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "sh")])
def test_commands_run(page: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for block in blocks(page, "sh") for line in block.text.splitlines()]
    for line in lines:
        if line.startswith("lance-arrow "):
            # Not the way over Spark, which tests/spark takes.
            aside = ["--engine", "pyarrow"] if line.startswith("lance-arrow demo") else []
            assert run([*shlex.split(line)[1:], *aside]) == 0, capsys.readouterr().err
            assert capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES)
def test_quoted_files_are_exact(page: str) -> None:
    for block in blocks(page, "python", "toml"):
        quoted = FILE.match(block.text)
        if quoted is not None:
            assert block.text[quoted.end() :] == (ROOT / quoted[1]).read_text()


@pytest.mark.parametrize(("page", "door"), [("index", "duckdb"), ("duckdb", "duckdb"), ("polars", "polars")])
def test_pages_of_engines_begin_with_their_door(page: str, door: str) -> None:
    first = (ROOT / "docs" / "engines" / f"{page}.md").read_text().splitlines()[:5]
    assert f"from lance_arrow.integrations import {door} as lance" in first
    assert f'flights = lance.{"scan" if door == "polars" else "relation"}("flights")' in first


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in LINK.findall((ROOT / page).read_text()):
        assert ((ROOT / page).parent / target).exists(), target


def first_command() -> str:
    """Return the README's first command."""
    return blocks("README.md", "sh")[0].text.splitlines()[0]


def test_the_first_screen_names_the_two_commands() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    first_screen = "\n".join(lines[:24])
    assert first_command() == 'python -m pip install ".[all]" && lance-arrow demo'
    assert f"\n{first_command()}\n" in first_screen
    assert "\npython -m pip install nox && nox -s tests\n" in first_screen
    assert "The demo runs a Spark job" in "\n".join(lines[:10])


def test_ci_runs_the_two_commands() -> None:
    sentences = [line.strip() for line in (ROOT / ".github" / "workflows" / "tests.yml").read_text().splitlines()]
    assert f"- run: {first_command()}" in sentences
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == blocks("README.md", "sh")[0].text.splitlines()[1]


def test_the_ten_lines_show_what_was_deleted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [block] = [block for block in blocks("README.md", "python") if not block.text.startswith(SPARK_BLOCK)]
    lines = [line for line in block.text.splitlines() if line and not line.startswith(("import ", "from "))]
    assert len(lines) == 10
    total = LanceTable.open(folder / "trips.lance").count_rows()
    exec(compile(block.text, "README.md", "exec", dont_inherit=True), {})
    told = re.fullmatch(r"(\d+) flights before, (\d+) after", capsys.readouterr().out.splitlines()[-1])
    assert told is not None
    assert int(told[1]) == total
    assert 0 < int(told[2]) == LanceTable.open(folder / "trips.lance").count_rows() < total


def test_every_extra_is_in_all_or_documented_as_left_out() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    [asked] = extras.pop("all")
    held = set(re.fullmatch(r"lance-arrow\[(.*)\]", asked)[1].split(","))
    assert "spark" in held
    rows = [line for line in (ROOT / "docs" / "getting_started.md").read_text().splitlines() if line.startswith("| `")]
    left_out = {
        name for row in rows if "not part of `all`" in row for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    assert left_out == set(extras) - held == {"huggingface", "pytorch", "ray", "s3"}
