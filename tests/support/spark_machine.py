"""What tests ask of a machine that Spark is to run on."""

from __future__ import annotations

import os
import pkgutil
from pathlib import Path

import pytest

from lance_arrow.spark.environment import why_not

PLUGINS = Path(__file__).parents[2] / "plugins"
# Compiling little and collecting by one thread: short tests end sooner.
JAVA_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss4m"


def need_java() -> None:
    """Skip where Spark cannot run, and say why; fail where `LANCE_ARROW_REQUIRE_SPARK` is set."""
    reason = why_not()
    if reason is not None:
        if os.environ.get("LANCE_ARROW_REQUIRE_SPARK"):
            pytest.fail(reason)
        pytest.skip(f"nothing here ran on Spark: {reason}")


def found_by_name(name: str) -> bool:
    """Whether Spark's walk over top-level modules meets a module; it does not in editable installations."""
    return any(module.name == name for module in pkgutil.iter_modules())
