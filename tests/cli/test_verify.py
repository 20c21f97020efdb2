"""`lance-arrow verify`: what it says, and how it exits."""

from __future__ import annotations

import pyarrow as pa
import pytest
from checksummed import with_checksums
from witness import Witness

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def files(witness: Witness, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("verify")
    plain = witness.write(pa.table({"a": list(range(100))}), folder / "plain.lance", "2.2")
    data, _ = with_checksums(plain.read_bytes())
    (folder / "sums.lance").write_bytes(data)
    (folder / "damaged.lance").write_bytes(bytes([data[0] ^ 1]) + data[1:])
    return folder


def test_sound_files_exit_with_0(command, files):
    done = command("verify", files / "sums.lance")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == f"{files / 'sums.lance'}: in order"
    assert lines[1].startswith("compared with checksums: ")
    assert lines[2] == "decoded: 1 column, 1 page, 100 rows"
    assert "the file has none" in command("verify", files / "plain.lance").out


def test_damaged_files_exit_with_1(command, files):
    done = command("verify", files / "damaged.lance")
    assert (done.code, done.err) == (1, "")
    assert "1 fault" in done.out
    assert "fault: bytes of the file contradict their checksum [column 'a', page 0, bytes 0.." in done.out


def test_json(command, files):
    done = command("verify", files / "damaged.lance", "--json")
    assert done.code == 1
    assert (done.document["ok"], done.document["has_checksums"]) == (False, True)
    assert done.document["errors"][0]["column"] == "a"
    assert command("--json", "verify", files / "sums.lance").document["ok"] is True


def test_what_is_no_lance_file_is_an_error(command, files):
    path = files / "text"
    path.write_text("x" * 100)
    done = command("verify", path, "--json")
    assert done.code == 1
    assert "not a Lance file" in done.document["error"]["message"]
