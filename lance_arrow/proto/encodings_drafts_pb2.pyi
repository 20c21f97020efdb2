from google.protobuf import empty_pb2 as _empty_pb2
from lance_arrow.proto import encodings_v20_pb2 as _encodings_v20_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FixedSizeList(_message.Message):
    __slots__ = ("dimension", "items")
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    dimension: int
    items: ArrayEncoding
    def __init__(self, dimension: _Optional[int] = ..., items: _Optional[_Union[ArrayEncoding, _Mapping]] = ...) -> None: ...

class Constant(_message.Message):
    __slots__ = ("value", "num_values")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    NUM_VALUES_FIELD_NUMBER: _ClassVar[int]
    value: bytes
    num_values: int
    def __init__(self, value: _Optional[bytes] = ..., num_values: _Optional[int] = ...) -> None: ...

class Bitpack2(_message.Message):
    __slots__ = ("uncompressed_bits_per_value",)
    UNCOMPRESSED_BITS_PER_VALUE_FIELD_NUMBER: _ClassVar[int]
    uncompressed_bits_per_value: int
    def __init__(self, uncompressed_bits_per_value: _Optional[int] = ...) -> None: ...

class Variable(_message.Message):
    __slots__ = ("bits_per_offset",)
    BITS_PER_OFFSET_FIELD_NUMBER: _ClassVar[int]
    bits_per_offset: int
    def __init__(self, bits_per_offset: _Optional[int] = ...) -> None: ...

class Fsst(_message.Message):
    __slots__ = ("binary", "symbol_table")
    BINARY_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_TABLE_FIELD_NUMBER: _ClassVar[int]
    binary: ArrayEncoding
    symbol_table: bytes
    def __init__(self, binary: _Optional[_Union[ArrayEncoding, _Mapping]] = ..., symbol_table: _Optional[bytes] = ...) -> None: ...

class FsstOrPacked(_message.Message):
    __slots__ = ("inner", "rest")
    INNER_FIELD_NUMBER: _ClassVar[int]
    REST_FIELD_NUMBER: _ClassVar[int]
    inner: ArrayEncoding
    rest: bytes
    def __init__(self, inner: _Optional[_Union[ArrayEncoding, _Mapping]] = ..., rest: _Optional[bytes] = ...) -> None: ...

class PackedStruct(_message.Message):
    __slots__ = ("flat", "bits_per_values")
    FLAT_FIELD_NUMBER: _ClassVar[int]
    BITS_PER_VALUES_FIELD_NUMBER: _ClassVar[int]
    flat: ArrayEncoding
    bits_per_values: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, flat: _Optional[_Union[ArrayEncoding, _Mapping]] = ..., bits_per_values: _Optional[_Iterable[int]] = ...) -> None: ...

class ArrayEncoding(_message.Message):
    __slots__ = ("flat", "fixed_size_list", "fsst", "constant", "bitpack2", "variable", "fsst_or_packed", "binary_block", "packed_struct")
    FLAT_FIELD_NUMBER: _ClassVar[int]
    FIXED_SIZE_LIST_FIELD_NUMBER: _ClassVar[int]
    FSST_FIELD_NUMBER: _ClassVar[int]
    CONSTANT_FIELD_NUMBER: _ClassVar[int]
    BITPACK2_FIELD_NUMBER: _ClassVar[int]
    VARIABLE_FIELD_NUMBER: _ClassVar[int]
    FSST_OR_PACKED_FIELD_NUMBER: _ClassVar[int]
    BINARY_BLOCK_FIELD_NUMBER: _ClassVar[int]
    PACKED_STRUCT_FIELD_NUMBER: _ClassVar[int]
    flat: _encodings_v20_pb2.Flat
    fixed_size_list: FixedSizeList
    fsst: Fsst
    constant: Constant
    bitpack2: Bitpack2
    variable: Variable
    fsst_or_packed: FsstOrPacked
    binary_block: _empty_pb2.Empty
    packed_struct: PackedStruct
    def __init__(self, flat: _Optional[_Union[_encodings_v20_pb2.Flat, _Mapping]] = ..., fixed_size_list: _Optional[_Union[FixedSizeList, _Mapping]] = ..., fsst: _Optional[_Union[Fsst, _Mapping]] = ..., constant: _Optional[_Union[Constant, _Mapping]] = ..., bitpack2: _Optional[_Union[Bitpack2, _Mapping]] = ..., variable: _Optional[_Union[Variable, _Mapping]] = ..., fsst_or_packed: _Optional[_Union[FsstOrPacked, _Mapping]] = ..., binary_block: _Optional[_Union[_empty_pb2.Empty, _Mapping]] = ..., packed_struct: _Optional[_Union[PackedStruct, _Mapping]] = ...) -> None: ...

class MiniBlockLayout(_message.Message):
    __slots__ = ("rep_compression", "def_compression", "value_compression", "dictionary", "layers", "repetition_index_depth", "num_items")
    REP_COMPRESSION_FIELD_NUMBER: _ClassVar[int]
    DEF_COMPRESSION_FIELD_NUMBER: _ClassVar[int]
    VALUE_COMPRESSION_FIELD_NUMBER: _ClassVar[int]
    DICTIONARY_FIELD_NUMBER: _ClassVar[int]
    LAYERS_FIELD_NUMBER: _ClassVar[int]
    REPETITION_INDEX_DEPTH_FIELD_NUMBER: _ClassVar[int]
    NUM_ITEMS_FIELD_NUMBER: _ClassVar[int]
    rep_compression: ArrayEncoding
    def_compression: ArrayEncoding
    value_compression: ArrayEncoding
    dictionary: ArrayEncoding
    layers: _containers.RepeatedScalarFieldContainer[_encodings_v20_pb2.RepDefLayer]
    repetition_index_depth: int
    num_items: int
    def __init__(self, rep_compression: _Optional[_Union[ArrayEncoding, _Mapping]] = ..., def_compression: _Optional[_Union[ArrayEncoding, _Mapping]] = ..., value_compression: _Optional[_Union[ArrayEncoding, _Mapping]] = ..., dictionary: _Optional[_Union[ArrayEncoding, _Mapping]] = ..., layers: _Optional[_Iterable[_Union[_encodings_v20_pb2.RepDefLayer, str]]] = ..., repetition_index_depth: _Optional[int] = ..., num_items: _Optional[int] = ...) -> None: ...

class FirstFullZipLayout(_message.Message):
    __slots__ = ("bits_rep", "bits_def", "value_compression", "layers")
    BITS_REP_FIELD_NUMBER: _ClassVar[int]
    BITS_DEF_FIELD_NUMBER: _ClassVar[int]
    VALUE_COMPRESSION_FIELD_NUMBER: _ClassVar[int]
    LAYERS_FIELD_NUMBER: _ClassVar[int]
    bits_rep: int
    bits_def: int
    value_compression: ArrayEncoding
    layers: _containers.RepeatedScalarFieldContainer[_encodings_v20_pb2.RepDefLayer]
    def __init__(self, bits_rep: _Optional[int] = ..., bits_def: _Optional[int] = ..., value_compression: _Optional[_Union[ArrayEncoding, _Mapping]] = ..., layers: _Optional[_Iterable[_Union[_encodings_v20_pb2.RepDefLayer, str]]] = ...) -> None: ...

class ZippedFsst(_message.Message):
    __slots__ = ("binary", "symbol_table")
    BINARY_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_TABLE_FIELD_NUMBER: _ClassVar[int]
    binary: ZippedEncoding
    symbol_table: bytes
    def __init__(self, binary: _Optional[_Union[ZippedEncoding, _Mapping]] = ..., symbol_table: _Optional[bytes] = ...) -> None: ...

class ZippedEncoding(_message.Message):
    __slots__ = ("flat", "fsst", "variable")
    FLAT_FIELD_NUMBER: _ClassVar[int]
    FSST_FIELD_NUMBER: _ClassVar[int]
    VARIABLE_FIELD_NUMBER: _ClassVar[int]
    flat: _encodings_v20_pb2.Flat
    fsst: ZippedFsst
    variable: Variable
    def __init__(self, flat: _Optional[_Union[_encodings_v20_pb2.Flat, _Mapping]] = ..., fsst: _Optional[_Union[ZippedFsst, _Mapping]] = ..., variable: _Optional[_Union[Variable, _Mapping]] = ...) -> None: ...

class FullZipLayout(_message.Message):
    __slots__ = ("bits_rep", "bits_def", "bits_per_value", "bits_per_offset", "num_items", "num_visible_items", "value_compression", "layers")
    BITS_REP_FIELD_NUMBER: _ClassVar[int]
    BITS_DEF_FIELD_NUMBER: _ClassVar[int]
    BITS_PER_VALUE_FIELD_NUMBER: _ClassVar[int]
    BITS_PER_OFFSET_FIELD_NUMBER: _ClassVar[int]
    NUM_ITEMS_FIELD_NUMBER: _ClassVar[int]
    NUM_VISIBLE_ITEMS_FIELD_NUMBER: _ClassVar[int]
    VALUE_COMPRESSION_FIELD_NUMBER: _ClassVar[int]
    LAYERS_FIELD_NUMBER: _ClassVar[int]
    bits_rep: int
    bits_def: int
    bits_per_value: int
    bits_per_offset: int
    num_items: int
    num_visible_items: int
    value_compression: ZippedEncoding
    layers: _containers.RepeatedScalarFieldContainer[_encodings_v20_pb2.RepDefLayer]
    def __init__(self, bits_rep: _Optional[int] = ..., bits_def: _Optional[int] = ..., bits_per_value: _Optional[int] = ..., bits_per_offset: _Optional[int] = ..., num_items: _Optional[int] = ..., num_visible_items: _Optional[int] = ..., value_compression: _Optional[_Union[ZippedEncoding, _Mapping]] = ..., layers: _Optional[_Iterable[_Union[_encodings_v20_pb2.RepDefLayer, str]]] = ...) -> None: ...
