"""Records of checksums in manifests and deletion files: what they cover, and bytes that look like one."""

from __future__ import annotations

import pytest

from lance_arrow.errors import CorruptManifestError
from lance_arrow.manifests.seals import DELETIONS, MANIFEST, RECORD, SECTION, arrow_footer, check_seal, seal

PARTS = (b"first", b"", b"second")


def test_a_record_is_of_the_joined_bytes() -> None:
    assert seal(MANIFEST, *PARTS) == seal(MANIFEST, b"".join(PARTS)) == seal(MANIFEST, b"firs", b"tsecond")
    assert seal(MANIFEST, b"") == seal(MANIFEST)
    assert len({seal(mark, *PARTS) for mark in (SECTION, MANIFEST, DELETIONS)}) == 3


def test_a_record_holds_crc32c_as_files_of_any_release_do() -> None:
    # The check value of CRC-32C, of these nine digits.
    assert RECORD.unpack(seal(MANIFEST, b"1234", b"56789"))[0] == 0xE3069283


def test_bytes_are_compared_with_their_record() -> None:
    record = seal(MANIFEST, *PARTS)
    assert check_seal(MANIFEST, record, "the manifest", *PARTS)
    with pytest.raises(CorruptManifestError, match="the manifest does not match its checksum"):
        check_seal(MANIFEST, record, "the manifest", b"firstsecond.")


@pytest.mark.parametrize("record", [b"", seal(MANIFEST, *PARTS)[:-1], seal(SECTION, *PARTS), bytes(RECORD.size)])
def test_what_is_no_record_is_compared_with_nothing(record: bytes) -> None:
    assert not check_seal(MANIFEST, record, "the manifest", b"other bytes")


@pytest.mark.parametrize(
    ("data", "start"),
    [
        (b"", None),
        (b"ARROW1..", None),
        (b"body" + b"foot" + (4).to_bytes(4, "little") + b"ARROW1", 4),
        (b"foot" + (4).to_bytes(4, "little") + b"ARROW1", 0),
        ((0).to_bytes(4, "little") + b"ARROW1", 0),
        (b"body" + b"foot" + (9).to_bytes(4, "little") + b"ARROW1", None),
        (b"body" + b"foot" + b"\xff\xff\xff\xff" + b"ARROW1", None),
    ],
)
def test_the_footer_of_an_arrow_file_is_found_by_its_size(data: bytes, start: int | None) -> None:
    assert arrow_footer(data) == start
