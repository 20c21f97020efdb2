"""Layers on the wire against the nodes of the schema."""

from __future__ import annotations

import pytest

from lance_arrow.errors import CorruptFileError
from lance_arrow.runtime import default_runtime
from lance_arrow.spi import BindScope, FixedWidth, LeafType, PackedStruct
from lance_arrow.spi.layouts import LayerKind, NodeKind

ITEM, NULLABLE, LIST = LayerKind.ALL_VALID_ITEM, LayerKind.NULLABLE_ITEM, LayerKind.NULLABLE_LIST
STRUCT = PackedStruct((FixedWidth(8), FixedWidth(64)))


def scope(*nodes: NodeKind, packed: bool = True) -> BindScope:
    return default_runtime().binder.scope(LeafType(STRUCT if packed else FixedWidth(8), nodes))


def test_fields_of_packed_structs_may_have_a_layer_without_levels() -> None:
    one, two = (NodeKind.ITEM,), (NodeKind.ITEM, NodeKind.LIST)
    assert scope(*one).layers([ITEM, NULLABLE]) == scope(*one).layers([NULLABLE]) == (NULLABLE,)
    assert scope(*one).layers([ITEM]) == (ITEM,)
    assert scope(*two).layers([ITEM, NULLABLE, LIST]) == (NULLABLE, LIST)


@pytest.mark.parametrize(
    ("layers", "packed"),
    [([NULLABLE, NULLABLE], True), ([ITEM, ITEM, NULLABLE], True), ([ITEM, LIST], True), ([ITEM, NULLABLE], False)],
)
def test_other_layers_are_refused(layers: list[LayerKind], packed: bool) -> None:
    with pytest.raises(CorruptFileError, match="layer"):
        scope(NodeKind.ITEM, packed=packed).layers(layers)
