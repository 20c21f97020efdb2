"""`LanceFileFragment`, one file of a dataset."""

from __future__ import annotations

from lance_arrow.datasets.bridge_loading import bridge

LanceFileFragment = bridge.LanceFileFragment

__all__ = ["LanceFileFragment"]
