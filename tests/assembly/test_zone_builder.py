"""Zone maps: what they claim holds for the rows, and what is stored is what was built."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_arrow.assembly.column_tree import LeafNode, column_tree
from lance_arrow.assembly.zone_bounds import MAX_BOUND_BYTES, successor
from lance_arrow.assembly.zone_builder import ZoneBuilder
from lance_arrow.assembly.zone_maps import ZoneMap, decode_zones, encode_zones
from lance_arrow.assembly.zone_types import bounds_type, is_repeated
from lance_arrow.container.fields import schema_to_messages
from lance_arrow.errors import CorruptFileError, InvalidArgumentError, ResourceLimitError
from lance_arrow.settings import Limits
