"""The tests of the kit, one class for each codec and layout of the selected distribution."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lance_arrow.spi import EncodingKey
from lance_arrow.testing.kit.installed import cases, selected
from lance_arrow.testing.kit.written import CHUNK_VALUES, check_files, codec_suite

_CODECS, _LAYOUTS = selected().codecs, selected().layouts


@pytest.mark.parametrize("codec", _CODECS, ids=str)
def test_codec_writes_some_values_itself(codec: EncodingKey) -> None:
    assert cases(codec, CHUNK_VALUES), f"{codec} leaves all samples to other codecs"


@pytest.mark.parametrize("codec", _CODECS, ids=str)
def test_codec_writes_files(codec: EncodingKey, tmp_path: Path) -> None:
    check_files({"codec": codec.case}, tmp_path)


@pytest.mark.parametrize("layout", _LAYOUTS, ids=str)
def test_layout_writes_files(layout: EncodingKey, tmp_path: Path) -> None:
    check_files({"layout": layout.case or layout.message}, tmp_path)


for _codec in _CODECS:
    if cases(_codec, CHUNK_VALUES):
        _name = "".join(word.title() for word in re.split(r"\W|_", str(_codec.case)))
        globals()[f"Test{_name}"] = codec_suite(_codec)
