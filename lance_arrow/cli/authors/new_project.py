"""The project of a new codec: files made of templates."""

from __future__ import annotations

import keyword
import re
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from lance_arrow.errors import InvalidArgumentError, TargetExistsError

_NAME = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")
_NATIVE_IMPORT = "\nfrom {{module}} import _native\n"
_NATIVE_METHOD = """
    def native_decoder(self, dtype: np.dtype[Any]) -> object:
        return _native.decoder(dtype.itemsize)

    def native_marks(self, dtype: np.dtype[Any]) -> object:
        return _native.marks(dtype.itemsize)
"""
_FILES = {
    "README.md": "README.md.in",
    "pyproject.toml": "pyproject.toml.in",
    "src/{{module}}/__init__.py": "module.py.in",
    "tests/test_conformance.py": "test_conformance.py.in",
    "tests/test_file.py": "test_file.py.in",
}
_NATIVE_FILES = _FILES | {
    "CMakeLists.txt": "CMakeLists.txt.in",
    "pyproject.toml": "pyproject_native.toml.in",
    "src/{{module}}/_native.c": "native.c.in",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectReport:
    """A written project.

    Parameters
    ----------
    name
        Name of the distribution.
    folder
        Where it is.
    codec
        Id of its codec, for ``column_options``.
    files
        Its files, relative to `folder`.
    next_steps
        Command lines that install and test it.
    """

    name: str
    folder: str
    codec: str
    files: list[str]
    next_steps: list[str]


def write_project(name: str, *, folder: Path | None = None, has_native_side: bool = False) -> ProjectReport:
    """Write the project of a codec of fixed-width values.

    Parameters
    ----------
    name
        Name of the distribution: lower-case letters, digits and ``-``. The module has ``_`` for ``-``.
    folder
        A new folder; `name` in the current one by default.
    has_native_side
        Whether the codec has a C side.

    Raises
    ------
    InvalidArgumentError
        `name` cannot be that of a distribution and a module.
    TargetExistsError
        `folder` exists.
    """
    module = _module(name)
    folder = Path(name) if folder is None else folder
    words = {"name": name, "module": module, "id": f"{module}.offsets/1"}
    words["native_import"] = _filled(_NATIVE_IMPORT, words) if has_native_side else ""
    words["native_method"] = _NATIVE_METHOD if has_native_side else ""
    templates = resources.files(__package__) / "templates"
    files = {
        _filled(path, words): _filled((templates / template).read_text(encoding="utf-8"), words)
        for path, template in (_NATIVE_FILES if has_native_side else _FILES).items()
    }
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise TargetExistsError(f"{str(folder)!r} exists; name a new folder by --folder", path=str(folder)) from error
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return ProjectReport(
        name=name,
        folder=str(folder),
        codec=words["id"],
        files=sorted(files),
        next_steps=[
            f"cd {folder}",
            "python -m pip install .",
            "python -m pytest",
            f"python -m pytest --lance-arrow-plugin {name}",
        ],
    )


def _module(name: str) -> str:
    module = name.replace("-", "_")
    if not _NAME.fullmatch(name) or "--" in name:
        raise InvalidArgumentError(
            f"{name!r} is no name of a project; expected lower-case letters, digits and single '-', such as lance-mine",
            detail=name,
        )
    if keyword.iskeyword(module) or module in sys.stdlib_module_names or module in ("lance_arrow", "numpy", "pyarrow"):
        raise InvalidArgumentError(f"{name!r} would hide the module or keyword {module!r}; choose another", detail=name)
    return module


def _filled(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace("{{" + word + "}}", value)
    return text
