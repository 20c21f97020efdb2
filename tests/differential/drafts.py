"""Make files of the drafts of 2.1 again and compare with what each release reads itself.

`python tests/differential/drafts.py 0.19.2=/path/to/python 0.25.0=/path/to/python`: each interpreter has that release
installed. `draft_files/make.py` runs in it; what the release read of each column, what it was given, and our reading
must agree, and the release must tell of its columns what its kept receipt says.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FILES = HERE.parent / "data" / "draft_files"
sys.path[:0] = [str(HERE.parent / "support"), str(FILES)]

import make  # noqa: E402
import pyarrow as pa  # noqa: E402
from same import difference, whole  # noqa: E402

import lance_arrow  # noqa: E402
from lance_arrow.errors import LanceError  # noqa: E402

SECONDS = 1800


def compared(folder: Path, group: str, told: dict[str, str]) -> list[str]:
    """Read a file that a release made just now; say what differs."""
    path = folder / f"{group}.lance"
    if not path.exists():
        return []
    given, faults = make.columns(group), []
    with lance_arrow.LanceFile(path) as file:
        for name in file.schema.names:
            try:
                ours = whole(file.read(columns=[name])[name])
            except LanceError as error:
                faults.append(f"{group}.{name}: {error}")
                continue
            expected = [("given", whole(given[name]))]
            if told[name] == "same":
                with pa.ipc.open_file(folder / f"{group}.{name}.arrow") as reading:
                    expected.append(("read by the release", whole(reading.read_all()[name]).cast(given[name].type)))
            for what, values in expected:
                found = "another count" if len(values) != len(ours) else difference(values, ours)
                if found is not None:
                    faults.append(f"{group}.{name} is not as {what}: {found}")
    return faults


def compare_release(release: str, python: str, folder: Path) -> list[str]:
    """Make all groups with a release; say what differs from it and from what is kept of it."""
    command = [python, "-W", "ignore", str(FILES / "make.py"), str(folder), "--readings"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    made = folder / release
    if done.returncode or not made.exists():
        return [f"{release} was not made: {done.stderr[-300:]}"]
    receipt = json.loads((made / "receipt.json").read_text())
    faults = [fault for group, told in receipt.items() for fault in compared(made, group, told)]
    path = FILES / release / "receipt.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    if any(receipt[group] != told for group, told in kept.items()):
        faults.append(f"{release} tells of its columns what its kept receipt does not")
    num_same = sum(how == "same" for told in receipt.values() for how in told.values())
    print(f"{release}: {num_same} columns read as the release reads them, {len(faults)} faults")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", nargs="+", help="RELEASE=PYTHON")
    options = parser.parse_args()
    all_faults = []
    for pair in options.release:
        release, _, python = pair.partition("=")
        with tempfile.TemporaryDirectory() as folder:
            all_faults += compare_release(release, python, Path(folder))
    print("\n".join(all_faults), end="\n" if all_faults else "")
    return int(bool(all_faults))


if __name__ == "__main__":
    sys.exit(main())
