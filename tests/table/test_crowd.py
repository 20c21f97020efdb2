"""The short form of `nox -s crowd`: a few processes write one table at once."""

from __future__ import annotations

from pathlib import Path

import crowd


def test_every_version_follows_from_the_one_before(tmp_path: Path) -> None:
    versions, _ = crowd.run(tmp_path / "t.lance", crowd.ROLES, 3, stable=True)
    assert versions >= 13
