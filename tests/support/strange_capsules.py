"""Structs of `lance_arrow_native.h`, and capsules around them, for C sides of strangers that are made by ctypes."""

from __future__ import annotations

import ctypes

LEFT = ctypes.create_string_buffer(b"the codec leaves these values to its method in Python")  # LA_LEFT
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
# A capsule keeps the address of its name.
_names: dict[str, ctypes.Array[ctypes.c_char]] = {}


class Runs(ctypes.Structure):
    _fields_ = (
        ("starts", ctypes.POINTER(ctypes.c_int64)),
        ("stops", ctypes.POINTER(ctypes.c_int64)),
        ("num_runs", ctypes.c_int64),
    )


class Chunk(ctypes.Structure):
    _fields_ = (
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("num_buffers", ctypes.c_int64),
        ("num_values", ctypes.c_int64),
    )


class Values(ctypes.Structure):
    _fields_ = (
        ("values", ctypes.c_void_p),
        ("bit_offset", ctypes.c_int64),
        ("ends", ctypes.POINTER(ctypes.c_int64)),
        ("end", ctypes.c_int64),
        ("reserve", ctypes.c_void_p),
        ("host", ctypes.c_void_p),
    )


def capsule(table: ctypes.Structure, name: str) -> object:
    """Return a capsule of this name around a struct, which the caller keeps."""
    held = _names.setdefault(name, ctypes.create_string_buffer(name.encode()))
    return _new_capsule(ctypes.addressof(table), held, None)
