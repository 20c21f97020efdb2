"""What is missing is said in one sentence: Java, its version, PySpark, its version."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

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
