"""What is missing is said in one sentence: Java, its version, PySpark, its version."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from lance_arrow.errors import UnsupportedError
from lance_arrow.spark import environment
from lance_arrow.spark.source import LanceDataSource


def java(folder: Path, said: str) -> str:
    (folder / "bin").mkdir()
    (folder / "bin" / "java").write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{said}\nEND\n")
    (folder / "bin" / "java").chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("said", "version"),
    [('openjdk version "17.0.15" 2025-04-15', 17), ('java version "1.8.0_392"', 8), ('openjdk version "21" 2023', 21)],
)
def test_versions_of_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, version: int) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, said))
    assert environment.java_version() == version
    expected = None if version >= 17 else f"Spark needs Java 17 or newer, this is Java {version}"
    assert environment.why_not() == expected


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert environment.why_not() == "Spark needs Java 17 or newer: none is on the PATH"


def test_a_java_that_says_nothing_of_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, "Unable to locate a runtime"))
    with pytest.raises(UnsupportedError, match="does not say its version but 'Unable to locate a runtime'"):
        environment.check_java()


@pytest.mark.parametrize("found", ["3.5.1", "4.0.2"])
def test_a_pyspark_that_is_too_old(monkeypatch: pytest.MonkeyPatch, found: str) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: found)
    with pytest.raises(UnsupportedError, match=rf"PySpark 4\.1 or newer is needed, {found} is installed"):
        LanceDataSource({"path": "/t"})


def test_no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    assert environment.why_not() == (
        "PySpark 4.1 or newer is needed, none is installed: python -m pip install 'lance-arrow[spark]'"
    )


def test_an_unpacked_home_has_no_archive_of_pyspark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python processes of Spark begin their path with two archives of the home, as this one does."""
    monkeypatch.delenv("SPARK_HOME", raising=False)
    home = environment.unpacked_home(tmp_path / "home")
    present = Path(pyspark.__file__).parent
    assert {one.name for one in home.iterdir()} >= {"bin", "jars"}
    assert all((home / name).resolve() == (present / name).resolve() for name in ("bin", "jars"))
    script = "import pyspark; print(pyspark.__file__)"
    for folder, is_packed in ((present, True), (home, False)):
        path = os.pathsep.join(str(folder / "python" / "lib" / name) for name in ("pyspark.zip", "py4j-src.zip"))
        done = subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
            check=True, timeout=60,
        )  # fmt: skip
        assert (".zip" in done.stdout) == is_packed


def test_an_unpacked_home_links_to_a_home_that_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "present" / "jars").mkdir(parents=True)
    (tmp_path / "present" / "conf").mkdir()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "present"))
    home = environment.unpacked_home(tmp_path / "home")
    assert {one.name: one.readlink().name for one in home.iterdir()} == {"jars": "jars", "conf": "conf"}
