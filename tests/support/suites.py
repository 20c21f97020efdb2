"""The conformance suites that the test modules of a folder hold."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

SuiteT = TypeVar("SuiteT")


def suites_beside(module: str, kind: type[SuiteT]) -> Iterator[type[SuiteT]]:
    """Yield the classes below `kind` in the other test modules beside `module`, whose file is named."""
    own = Path(module)
    for path in sorted(own.parent.glob("test_*.py")):
        if path != own:
            spec = importlib.util.spec_from_file_location(f"suites_of_{path.stem}", path)
            assert spec is not None
            assert spec.loader is not None
            loaded = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = loaded
            spec.loader.exec_module(loaded)
            found = (one for one in vars(loaded).values() if isinstance(one, type) and issubclass(one, kind))
            yield from (one for one in found if one is not kind)
