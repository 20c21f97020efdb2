"""Page layouts since 2.1, one module or package per case of `PageLayout`; each is one entry point.

Input: slices of page buffers. Output: levels and values of the selected rows. Modules import only `lance_arrow.spi`,
`.pages`, `.kernels`, `.proto` and `.errors`, and never each other.
"""
