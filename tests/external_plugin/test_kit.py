"""The conformance kit on installed distributions: it passes good ones, and finds what is wrong with others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from forked import run_command
from outside import ALONE, install, write_entry_points

MODULE = """
import zlib
import numpy as np
from lance_arrow.spi import FixedWidthCodec, hookimpl


class Broken(FixedWidthCodec):
    id = "tests.broken/1"
    distribution = "tests-broken"
    dtypes = ("int16", "int32", "int64")
    decode_errors = ({errors})

    def encode_values(self, values):
        return zlib.compress(values.tobytes())

    def decode_values(self, data, num_values, dtype):
        return {decoded}


@hookimpl
def lance_provide_codecs():
    return [Broken()]
"""
GOOD = "np.frombuffer(zlib.decompress(data), dtype)"


def kit(name: str, site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(site)]
    return run_command(
        [*command, "-p", "lance_arrow.testing.kit", "--lance-arrow-plugin", name, *words], site, ALONE, 300
    )


def broken(site: Path, decoded: str, errors: str = "ValueError, zlib.error") -> Path:
    """Install a distribution with the codec above."""
    (site / "tests_broken.py").parent.mkdir(parents=True)
    (site / "tests_broken.py").write_text(MODULE.format(decoded=decoded, errors=errors))
    folder = site / "tests_broken-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: tests-broken\nVersion: 1\n")
    write_entry_points(folder, {"lance_arrow": {"codec.tests_broken": "tests_broken"}})
    return site


def test_a_layout_passes(tmp_path: Path) -> None:
    done = kit("Lance_Aligned", install("aligned", tmp_path / "site"))
    assert done.returncode == 0, done.stdout[-3000:]
    assert "1 passed" in done.stdout


def test_a_codec_passes(tmp_path: Path) -> None:
    done = kit("tests-broken", broken(tmp_path / "site", GOOD), "-k", "not native")
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize(
    ("decoded", "errors", "said"),
    [
        (f"{GOOD} + (num_values > 1)", "ValueError, zlib.error", "test_every_sample_decodes"),
        (GOOD, "ValueError,", "test_damaged_bytes_are_refused_or_decoded"),
        (f"{GOOD}[:-1]", "ValueError, zlib.error", "test_codec_writes_files"),
        (f"{GOOD}.tolist()", "ValueError, zlib.error", "PluginContractError"),
    ],
)
def test_a_broken_codec_fails(tmp_path: Path, decoded: str, errors: str, said: str) -> None:
    chosen = said if said.startswith("test_") else "sample"
    done = kit("tests-broken", broken(tmp_path / "site", decoded, errors), "-k", chosen, "-x")
    assert done.returncode == 1, done.stdout[-3000:]
    assert said in done.stdout


def test_a_plugin_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    done = kit("lance-broken-fsst", install("broken", tmp_path / "site"))
    assert done.returncode == 4
    assert "cannot be imported" in done.stderr


def test_a_distribution_without_codecs_is_refused(tmp_path: Path) -> None:
    done = kit("lance-receipts", install("receipts", tmp_path / "site"))
    assert done.returncode == 4
    assert "provides no codec or layout that writes" in done.stderr
