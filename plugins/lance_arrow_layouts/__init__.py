"""Page layouts since 2.1, one module or package per case of `PageLayout`; each is one entry point.

In: slices of page buffers. Out: levels and values of the wanted rows. They import `lance_arrow.spi`, `.kernels`,
`.proto` and `.errors` only, and never each other.
"""
