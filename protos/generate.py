"""Regenerate `lance_arrow/proto/*_pb2.py` and `*_pb2.pyi` from the .proto files beside this script.

With ``--check`` nothing is written: the result is compared with what is there, and differences are listed.
"""

from __future__ import annotations

import argparse
import filecmp
import sys
import tempfile
from pathlib import Path

import grpc_tools
from grpc_tools import protoc

PROTO_ROOT = Path(__file__).parent
TARGET_ROOT = PROTO_ROOT.parent
# Below both roots: it is what makes file names in descriptors, and imports in generated code, ours alone.
PACKAGE = Path("lance_arrow", "proto")
PATTERNS = ("*_pb2.py", "*_pb2.pyi")


def generate(target_root: Path) -> None:
    """Run the compiler on every .proto file, writing below `target_root`."""
    sources = [str(path.relative_to(PROTO_ROOT)) for path in sorted((PROTO_ROOT / PACKAGE).glob("*.proto"))]
    if not sources:
        sys.exit(f"no .proto file in {PROTO_ROOT / PACKAGE}")
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    options = [f"-I{PROTO_ROOT}", f"-I{well_known}", f"--python_out={target_root}", f"--pyi_out={target_root}"]
    if protoc.main(["protoc", *options, *sources]) != 0:
        sys.exit("the protobuf compiler failed")


def generated_names(folder: Path) -> set[str]:
    """Names of the generated files in `folder`."""
    return {path.name for pattern in PATTERNS for path in folder.glob(pattern)}


def drifted() -> list[str]:
    """Name the generated files that are missing, left over or different from a fresh run."""
    with tempfile.TemporaryDirectory() as scratch:
        generate(Path(scratch))
        fresh, present = Path(scratch) / PACKAGE, TARGET_ROOT / PACKAGE
        names = sorted(generated_names(fresh) | generated_names(present))
        return sorted(set(names) - set(filecmp.cmpfiles(fresh, present, names, shallow=False)[0]))


def main() -> None:
    """Generate, or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a generated file differs")
    if parser.parse_args().check:
        names = drifted()
        if names:
            sys.exit("not what the .proto files say, run `nox -s protos`: " + ", ".join(names))
        return
    target = TARGET_ROOT / PACKAGE
    for name in generated_names(target):
        (target / name).unlink()
    generate(TARGET_ROOT)


if __name__ == "__main__":
    main()
