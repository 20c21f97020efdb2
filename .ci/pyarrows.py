"""Install pyarrows side by side, for a wheel with a bridge for each: `python .ci/pyarrows.py FOLDER [MAJOR ...]`.

Without numbers: every release that pyproject.toml allows. The build is told of them by
`-Ccmake.define.LANCE_ARROW_PYARROWS=FOLDER`. The folder is made anew: each Python needs its own.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from environments import run

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "lance_arrow" / "arrow_dataset" / "bridge"))
from find_pyarrows import allowed_releases  # noqa: E402

__all__ = ["allowed_releases", "install_pyarrows"]


def install_pyarrows(python: str | Path, folder: Path, majors: list[int] | None = None) -> Path:
    """Install pyarrows for an interpreter into `folder/26` and so on, unless they are there; returns the folder."""
    for major in majors or allowed_releases():
        if not (folder / str(major) / "pyarrow").exists():
            place = ("--no-deps", "--only-binary", ":all:", "--target", folder / str(major))
            run(python, "-m", "pip", "install", "-q", *place, f"pyarrow=={major}.*")
    return folder


if __name__ == "__main__":
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    install_pyarrows(sys.executable, Path(sys.argv[1]), [int(number) for number in sys.argv[2:]])
