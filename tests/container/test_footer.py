"""The last 40 bytes."""

import numpy as np
import pytest

from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.footer import FileVersion, read_footer
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.io import BufferSource, LocalSource


def _read(data):
    return read_footer(np.frombuffer(data, np.uint8), len(data))


@pytest.mark.parametrize(
    ("pair", "version"),
    [
        ((0, 1), "0.1"),
        ((0, 2), "0.1"),
        ((0, 3), "2.0"),
        ((2, 0), "2.0"),
        ((2, 1), "2.1"),
        ((2, 2), "2.2"),
        ((2, 3), "2.3"),
    ],
)
def test_every_known_pair(craft, pair, version):
    footer = _read(craft(version=pair).build())
    assert str(footer.version) == version
    assert FileVersion(version) is footer.version


@pytest.mark.parametrize("pair", [(0, 0), (0, 4), (1, 0), (2, 4), (3, 0), (65535, 65535)])
def test_unknown_pairs_are_named(craft, pair):
    with pytest.raises(UnsupportedError, match=rf"\({pair[0]}, {pair[1]}\)") as caught:
        craft(version=pair).open()
    assert caught.value.detail == pair
    assert caught.value.path == "crafted"


@pytest.mark.parametrize("pair", [(0, 1), (0, 2)])
def test_the_first_generation_is_read_by_its_own_rules(craft, pair):
    # Its positions mean something else: none may be judged by the rules of 2.x.
    with pytest.raises(CorruptFileError, match="the metadata of the file is declared at"):
        craft(version=pair, footer={"columns": 2**63, "num_columns": 2**32 - 1}).open()


@pytest.mark.parametrize("size", [0, 1, 39])
def test_too_short(craft, size):
    with pytest.raises(CorruptFileError, match="not a Lance file"):
        LanceFileReader(BufferSource(craft().build()[-size:] if size else b""))


def test_other_files(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    with pytest.raises(CorruptFileError, match="not a Lance file") as caught:
        LanceFileReader(LocalSource(tmp_path / "a.parquet"))
    assert caught.value.path == str(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    "footer",
    [
        {"columns": 2**64 - 1},
        {"columns": 2**63},
        {"num_columns": 2**32 - 1},
        {"columns": 10**6},
        {"buffers": 2**64 - 16},
        {"num_buffers": 2**32 - 1},
        {"num_buffers": 2},
        {"buffers": 10**6},
    ],
)
def test_tables_outside_the_file(craft, footer):
    with pytest.raises(CorruptFileError, match="table"):
        craft(footer=footer).open()
