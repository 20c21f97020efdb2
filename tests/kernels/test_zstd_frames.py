"""Zstandard frames by Arrow's library: the same bytes as the package `zstandard`, and the same refusals."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import zstandard

from lance_arrow import engine
from lance_arrow.errors import LanceError
from lance_arrow.kernels import native_codecs
from lance_arrow_codecs import native
from lance_arrow_codecs.zstd import BoundZstd

MOST = 1 << 20
RANDOM = np.random.default_rng(4)
CONTENTS = {
    "empty": b"",
    "one": b"x",
    "short": b"some text",
    "255": bytes(255),
    "256": bytes(range(256)),
    "noise": RANDOM.bytes(3000),
    "text": b"".join(b"text number %d of many; " % (number % 97) for number in range(2000)),
    "repeated": b"\7" * 200_000,
    "blocks": RANDOM.bytes(150_000) + bytes(150_000),
}
FORMS = {
    "usual": {},
    "fast": {"level": -5},
    "small": {"level": 19},
    "checksum": {"write_checksum": True},
    "no size": {"write_content_size": False},
}


def framed(content: bytes, form: str, *, has_word: bool) -> bytes:
    frame = zstandard.ZstdCompressor(**FORMS[form]).compress(content)
    return len(content).to_bytes(8, "little") + frame if has_word else frame


def natively(frame: bytes) -> bytes | None:
    """Decode one frame; None where it is refused."""
    codec = native_codecs.compressed_values(native.zstd_frames(native_codecs.zstd_decoder()), MOST)
    data = np.frombuffer(frame + b"\0", np.uint8)
    try:
        values, ends = engine.expand_values(codec, data, np.array([0]), np.array([len(frame)]), MOST)
    except LanceError:
        return None
    assert ends == [len(values)]
    return values


def in_python(frame: bytes) -> bytes | None:
    bound = BoundZstd(lambda _name, size: size, MOST)
    data, places = np.frombuffer(frame, np.uint8), (np.array([0]), np.array([len(frame)]))
    try:
        sizes = bound.sizes(data, *places)
        out = np.empty(int(sizes[0]), np.uint8)
        bound.decompress(data, *places, out, np.array([0, len(out)]))
    except LanceError:
        return None
    return out.tobytes()


@pytest.mark.parametrize("has_word", [True, False])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("content", CONTENTS)
def test_bytes_are_those_of_the_package(content: str, form: str, has_word: bool) -> None:
    frame = framed(CONTENTS[content], form, has_word=has_word)
    if form == "no size" and not has_word:
        # The content would have to be decoded to learn its size: that is left to Python.
        assert natively(frame) is None
    else:
        assert natively(frame) == CONTENTS[content]
    assert in_python(frame) == CONTENTS[content]


def test_nothing_is_an_empty_frame() -> None:
    assert natively(b"") == in_python(b"") == b""


@pytest.mark.cover(1)
@pytest.mark.parametrize("has_word", [True, False])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("content", ["short", "text", "noise", "repeated"])
def test_broken_frames_are_refused_or_are_frames(content: str, form: str, has_word: bool) -> None:
    """What native code accepts of mutants, Python accepts, as the same bytes."""
    random = np.random.default_rng(7)
    frame = framed(CONTENTS[content], form, has_word=has_word)
    num_refused = 0
    for turn in range(300):
        mutant = bytearray(frame)
        # Heads decide most.
        reach = min(len(frame), 40) if turn % 2 else len(frame)
        for place in random.integers(0, reach, random.integers(1, 4)):
            mutant[place] ^= 1 << random.integers(0, 8)
        if turn % 5 == 0:
            del mutant[random.integers(0, len(mutant)) :]
        found = natively(bytes(mutant))
        num_refused += found is None
        assert found is None or found == in_python(bytes(mutant))
    assert num_refused > 50


@pytest.mark.parametrize("more", [b"\0", b"\0" * 8, framed(b"", "usual", has_word=False), b"\x50\x2a\x4d\x18\0\0\0\0"])
def test_bytes_behind_a_frame_are_refused(more: bytes) -> None:
    frame = framed(CONTENTS["text"], "usual", has_word=True)
    assert natively(frame + more) is None
    assert in_python(frame + more) is None


def test_a_declared_size_is_compared_before_anything_is_decoded() -> None:
    frame = framed(CONTENTS["text"], "usual", has_word=False)
    size = len(CONTENTS["text"])
    for wrong in (0, size - 1, size + 1, 1 << 40, 1 << 63, (1 << 64) - 1):
        assert natively(wrong.to_bytes(8, "little") + frame) is None
    large = zstandard.ZstdCompressor().compress(bytes(2 * MOST))
    assert natively(large) is None  # above the limit


def test_a_frame_that_needs_a_dictionary_is_refused() -> None:
    dictionary = zstandard.ZstdCompressionDict(CONTENTS["text"][:4000])
    frame = zstandard.ZstdCompressor(dict_data=dictionary).compress(CONTENTS["text"][:2000])
    assert natively(frame) is None or natively(frame) == in_python(frame)


def test_threads_share_a_capsule() -> None:
    frames = [framed(content, "usual", has_word=True) for content in CONTENTS.values()] * 40
    good, bad = list(CONTENTS.values()) * 40, framed(CONTENTS["text"], "usual", has_word=True)[:-3]
    with ThreadPoolExecutor(8) as threads:
        # A refused frame leaves the decoder of its thread as good as new.
        found = list(threads.map(lambda frame: (natively(bad), natively(frame)), frames))
    assert found == [(None, content) for content in good]
