from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LegacyPage(_message.Message):
    __slots__ = ("plain", "var_binary", "list_offsets", "dictionary", "nothing")
    PLAIN_FIELD_NUMBER: _ClassVar[int]
    VAR_BINARY_FIELD_NUMBER: _ClassVar[int]
    LIST_OFFSETS_FIELD_NUMBER: _ClassVar[int]
    DICTIONARY_FIELD_NUMBER: _ClassVar[int]
    NOTHING_FIELD_NUMBER: _ClassVar[int]
    plain: Plain
    var_binary: VarBinary
    list_offsets: ListOffsets
    dictionary: Dictionary
    nothing: Nothing
    def __init__(self, plain: _Optional[_Union[Plain, _Mapping]] = ..., var_binary: _Optional[_Union[VarBinary, _Mapping]] = ..., list_offsets: _Optional[_Union[ListOffsets, _Mapping]] = ..., dictionary: _Optional[_Union[Dictionary, _Mapping]] = ..., nothing: _Optional[_Union[Nothing, _Mapping]] = ...) -> None: ...

class Plain(_message.Message):
    __slots__ = ("buffer",)
    BUFFER_FIELD_NUMBER: _ClassVar[int]
    buffer: int
    def __init__(self, buffer: _Optional[int] = ...) -> None: ...

class VarBinary(_message.Message):
    __slots__ = ("buffer", "empty_is_null")
    BUFFER_FIELD_NUMBER: _ClassVar[int]
    EMPTY_IS_NULL_FIELD_NUMBER: _ClassVar[int]
    buffer: int
    empty_is_null: bool
    def __init__(self, buffer: _Optional[int] = ..., empty_is_null: bool = ...) -> None: ...

class ListOffsets(_message.Message):
    __slots__ = ("offset_bits", "num_items")
    OFFSET_BITS_FIELD_NUMBER: _ClassVar[int]
    NUM_ITEMS_FIELD_NUMBER: _ClassVar[int]
    offset_bits: int
    num_items: int
    def __init__(self, offset_bits: _Optional[int] = ..., num_items: _Optional[int] = ...) -> None: ...

class Dictionary(_message.Message):
    __slots__ = ("keys", "items", "num_items")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NUM_ITEMS_FIELD_NUMBER: _ClassVar[int]
    keys: LegacyPage
    items: LegacyPage
    num_items: int
    def __init__(self, keys: _Optional[_Union[LegacyPage, _Mapping]] = ..., items: _Optional[_Union[LegacyPage, _Mapping]] = ..., num_items: _Optional[int] = ...) -> None: ...

class Nothing(_message.Message):
    __slots__ = ("is_null",)
    IS_NULL_FIELD_NUMBER: _ClassVar[int]
    is_null: bool
    def __init__(self, is_null: bool = ...) -> None: ...
