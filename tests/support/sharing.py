"""How workers of pytest-xdist share tests: some of one file at once, the groups of `xdist_group` whole.

`--dist loadgroup` hands out single tests, and looks through all that it ever gave at each that ends. Thousands of tests
then cost minutes. Tests of one file share the fixtures of their module as well.
"""

from __future__ import annotations

from collections import Counter

import pytest
from xdist.scheduler import LoadGroupScheduling

TESTS_AT_ONCE = 10


class FilesInParts(LoadGroupScheduling):
    """Hands out up to `TESTS_AT_ONCE` tests of one file, and groups whole."""

    def __init__(self, config: pytest.Config, log: object) -> None:
        super().__init__(config, log)
        # Parts of one file stay together.
        config.option.loadscopereorder = False
        self._scopes: dict[str, str] = {}
        self._counts: Counter[str] = Counter()

    def _split_scope(self, nodeid: str) -> str:
        if nodeid not in self._scopes:
            scope = super()._split_scope(nodeid)
            if scope == nodeid:
                file = nodeid.partition("::")[0]
                scope = f"{file} part {self._counts[file] // TESTS_AT_ONCE}"
                self._counts[file] += 1
            self._scopes[nodeid] = scope
        return self._scopes[nodeid]
