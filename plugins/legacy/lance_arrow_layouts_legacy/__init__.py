"""Page layouts of 0.1, 2.0 and the drafts of 2.1; each module or package is one entry point, for reading only.

| Module | Reads |
|---|---|
| `array` | pages of 2.0 and 0.1: a tree of array encodings (`lance_arrow_codecs_v20`, `lance_arrow_codecs_v01`) |
| `drafts` | pages of releases 0.19 to 0.32 of the reference, in forms that are in no file version |

Modules import only `lance_arrow.spi`, `.pages`, `.kernels`, `.proto` and `.errors`, and never each other.
"""
