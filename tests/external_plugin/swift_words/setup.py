"""Build the native side against the public headers of lance-arrow."""

from __future__ import annotations

from setuptools import Extension, setup

from lance_arrow.spi.native import include_dir

native = Extension(
    "swift_words._native",
    ["swift_words/_native.cpp"],
    include_dirs=[str(include_dir())],
    language="c++",
    extra_compile_args=["-std=c++20"],
)
setup(ext_modules=[native])
