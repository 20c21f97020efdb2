"""Name the pyarrows to build the bridge for: ``find_pyarrows.py FOLDER SITE``, a part of the build.

With a FOLDER, each of its subfolders that holds a pyarrow (``pip install --no-deps --target FOLDER/24
'pyarrow==24.*'``). Without one (an empty argument), a single pyarrow. This is the one in SITE, the packages of the
environment that the build is installed into, if pyproject.toml allows its version. Else it is the one that this
interpreter imports, which an isolated build has installed.

One line for each: folder of packages; folder of headers; folder of libraries; ``major * 100 + minor``.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

_PROJECT = Path(__file__).parents[3] / "pyproject.toml"
# A process for each: one process imports one pyarrow.
_FACTS = """
import os, sys
sys.path[:0] = sys.argv[1:]
import pyarrow as pa
home, version = os.path.dirname(pa.__file__), pa.cpp_version_info
print(os.path.dirname(home), pa.get_include(), home, version.major * 100 + version.minor, sep=";")
"""


def allowed_releases(project: Path = _PROJECT) -> range:
    """Return the major versions of pyarrow that the package is for."""
    found = re.search(r'"pyarrow>=(\d+),<(\d+)"', project.read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit(f"{project}: no dependency of the form 'pyarrow>=N,<M'")
    return range(int(found[1]), int(found[2]))


def _facts(*before: str) -> str:
    done = subprocess.run([sys.executable, "-c", _FACTS, *before], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip().replace("\\", "/")


def find_pyarrows(folder: str, site: str) -> list[str]:
    """Return the lines that the module's docstring describes."""
    if folder:
        found = sorted(str(path.parent) for path in Path(folder).glob("*/pyarrow"))
        if not found:
            raise SystemExit(f"{folder}: no subfolder holds a pyarrow")
        return [_facts(one) for one in found]
    if (Path(site) / "pyarrow" / "__init__.py").exists():
        facts = _facts(site)
        if int(facts.rpartition(";")[2]) // 100 in allowed_releases():
            return [facts]
    return [_facts()]


if __name__ == "__main__":
    print(*find_pyarrows(*sys.argv[1:]), sep="\n")
