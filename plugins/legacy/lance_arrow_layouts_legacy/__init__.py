"""Page layouts of 0.1, 2.0 and the drafts of 2.1; each module or package is one entry point, which only reads.

| Module | Reads |
|---|---|
| `array` | pages of 2.0 and 0.1: a tree of array encodings (`lance_arrow_codecs_v20`, `lance_arrow_codecs_v01`) |
| `drafts` | pages that releases 0.19 to 0.32 of the reference wrote, in forms that no file version has |

They import `lance_arrow.spi`, `.pages`, `.kernels`, `.proto` and `.errors` only, and never each other.
"""
