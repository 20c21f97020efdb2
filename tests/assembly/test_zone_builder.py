"""Zone maps: what they claim holds for the rows, and what is stored is what was built."""

from __future__ import annotations
