"""`docs/plugins/hooks.md` lists every hook with its exact arguments, and no other."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from lance_arrow.spi import hookspecs

PAGE = Path(__file__).parents[2] / "docs" / "plugins" / "hooks.md"
HEADING = re.compile(r"^## `(\w+)\((.*)\)`$", re.MULTILINE)


def test_hooks_are_documented_with_their_arguments() -> None:
    declared = {
        name: ", ".join(inspect.signature(hook).parameters)
        for name, hook in vars(hookspecs).items()
        if hasattr(hook, f"{hookspecs.PROJECT}_spec")
    }
    assert "lance_provide_codecs" in declared
    assert dict(HEADING.findall(PAGE.read_text())) == declared
