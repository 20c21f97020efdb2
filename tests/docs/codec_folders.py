"""Count the files that name a codec or layout outside its folder, and loops in headers; part of `nox -s lint`.

A codec lives in ``plugins/<distribution>/<codec>/``. Two files name it: `pyproject.toml`, which registers it, and the
``native.pyx`` of its distribution, which includes its native part. Named means: by its module, its folder, its entry in
a message, or a word that says nothing else. Options of users are no such names, nor are formats of other versions.

A ``codec.hpp`` has no loops: modules include it, which are compiled with less optimization than sources.

Run as ``python tests/docs/codec_folders.py``.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = {"lance_arrow_codecs": 2, "lance_arrow_layouts": 4}
"""How many files may name what a distribution provides."""
WORDS = {
    "byte_stream_split": r"byte.?stream.?split|ByteStreamSplit",
    "fsst": r"\bfsst\b|Fsst|FSST",
    "inline_bitpacking": r"inline.?bit.?pack|InlineBitpack",
    "out_of_line_bitpacking": r"out.of.line.bit.?pack|OutOfLineBitpack",
    "rle": r"\brle\b|RunLength",
    "variable_packed_struct": r"variable.packed.struct|VariablePackedStruct",
    "full_zip": r"\"full_zip\"|FullZipLayout|full_zip_layout",
    "mini_block": r"\"mini_block\"|MiniBlockLayout|mini_block_layout",
    "planar": r"\"planar\"|PlanarLayout",
}
"""Of those whose names say nothing else; others are found by their folder and their entry in a message."""
ALLOWED = {
    # Compression chooses what it is around: it asks what byte streams would become under LZ4.
    ("byte_stream_split", "plugins/lance_arrow_codecs/general/"),
    ("lz4", "plugins/lance_arrow_codecs/general/"),
    # The reference reads no runs in positions of planar pages.
    ("rle", "plugins/lance_arrow_layouts/planar/"),
}
"""A codec or layout, and another that must know it."""
OTHER_FORMATS = ("plugins/legacy/", "lance_arrow/proto/", "lance_arrow/container/legacy/")
OPTIONS = ("lance_arrow/spi/encode_options.py",)
SUFFIXES = {".py", ".pyx", ".pxi", ".pxd", ".cpp", ".hpp", ".h", ".toml", ".txt"}


def tracked() -> dict[str, str]:
    """Return the texts of the product by their paths."""
    listed = subprocess.run(
        ["git", "ls-files", "lance_arrow", "plugins", "pyproject.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = (name for name in listed.stdout.splitlines() if Path(name).suffix in SUFFIXES and (ROOT / name).exists())
    return {name: (ROOT / name).read_text() for name in paths if not name.startswith((*OTHER_FORMATS, *OPTIONS))}


def naming(texts: dict[str, str], distribution: str, name: str) -> list[str]:
    """Return the files outside the folder of a codec or layout that name it."""
    own = f"plugins/{distribution}/{name}"
    places = rf"{distribution}[./]{name}\b|[\"/]{name}/|CompressiveEncoding/{name}\b|PageLayout/{name}(_layout)?\b"
    named = re.compile(f"{places}|{WORDS[name]}" if name in WORDS else places)
    known = (own + "/", own + ".", *(folder for one, folder in ALLOWED if one == name))
    return sorted(path for path, text in texts.items() if not path.startswith(known) and named.search(text))


def loops(texts: dict[str, str]) -> list[str]:
    """Return the headers of codecs that loop."""
    headers = {path: text for path, text in texts.items() if path.endswith("/codec.hpp")}
    return sorted(path for path, text in headers.items() if re.search(r"^[^/]*\b(for|while) \(", text, re.MULTILINE))


def main() -> int:
    """Print a line for each codec and layout; return 1 if one is named by too many files, or its header loops."""
    texts = tracked()
    looping = loops(texts)
    print(f"loops in headers: {', '.join(looping) or 'none'}")
    is_wrong = bool(looping)
    for distribution, most in DISTRIBUTIONS.items():
        folder = ROOT / "plugins" / distribution
        names = {path.stem for path in folder.iterdir() if path.is_dir() or path.suffix == ".py"} - {
            "__init__",
            "__pycache__",
        }
        for name in sorted(names):
            found = naming(texts, distribution, name)
            is_wrong |= len(found) > most
            print(f"{distribution}/{name}: {len(found)} of {most}: {', '.join(found)}")
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
