"""What is missing is said in one line with the remedy: Java, its version, PySpark, its version, its jars."""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from lance_arrow.errors import UnsupportedError
from lance_arrow.spark import environment
from lance_arrow.spark.source import LanceDataSource

INSTALL = "install OpenJDK 17 or newer, or set JAVA_HOME to its folder"


def java(folder: Path, said: str) -> str:
    (folder / "bin").mkdir(exist_ok=True)
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
    found = f"{str(tmp_path / 'bin' / 'java')!r} is Java {version}"
    expected = None if version >= 17 else f"Spark needs Java 17 or newer, {found}: {INSTALL}"
    assert environment.why_not() == environment.why_not_local() == expected


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert environment.why_not() == f"Spark needs Java 17 or newer, none is on the PATH: {INSTALL}"


@pytest.mark.parametrize("holds", ["nothing", "a file that cannot be executed"])
def test_a_wrong_java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holds: str) -> None:
    (tmp_path / "path" / "bin").mkdir(parents=True)
    on_path = Path(java(tmp_path / "path", 'openjdk version "17"')) / "bin"
    home = tmp_path / "home"
    if holds != "nothing":
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "java").write_text("")
    monkeypatch.setenv("JAVA_HOME", str(home))
    told = f"Spark needs Java 17 or newer, JAVA_HOME is {str(home)!r} and has no executable bin/java: "
    monkeypatch.setenv("PATH", str(on_path))
    assert environment.why_not() == f"{told}correct it, or unset it to use {str(on_path / 'java')!r}"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert environment.why_not() == f"{told}set it to the folder of a Java"


def test_a_java_that_says_nothing_of_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, "Unable to locate a runtime"))
    with pytest.raises(UnsupportedError, match="does not say its version but 'Unable to locate a runtime'"):
        environment.check_java()
    assert environment.why_not().endswith(INSTALL)


@pytest.mark.parametrize("found", ["3.5.1", "4.0.2"])
def test_a_pyspark_that_is_too_old(monkeypatch: pytest.MonkeyPatch, found: str) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: found)
    told = f"PySpark 4.1 or newer is needed, {found} is installed: python -m pip install 'pyspark>=4.1'"
    with pytest.raises(UnsupportedError, match=re.escape(told)):
        LanceDataSource({"path": "/t"})
    assert environment.why_not_local() == told


def test_no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    assert environment.why_not() == (
        "PySpark 4.1 or newer is needed, none is installed: python -m pip install 'lance-arrow[spark]'"
    )


def test_a_spark_home_without_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, 'openjdk version "17"'))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert environment.why_not() is None
    assert environment.why_not_local() == (
        f"SPARK_HOME is {str(tmp_path)!r} and has no folder 'jars': correct it, or unset it"
    )
    (tmp_path / "jars").mkdir()
    assert environment.why_not_local() is None


def test_a_pyspark_without_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As pyspark-client, which installs the same package."""
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, 'openjdk version "17"'))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert environment.why_not_local() is None
    client = importlib.machinery.ModuleSpec("pyspark", None, origin=str(tmp_path / "pyspark" / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: client)
    assert environment.why_not() is None
    assert environment.why_not_local() == (
        "the installed PySpark has no jars, as pyspark-client has none: python -m pip install 'lance-arrow[spark]'"
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
