"""Base classes of private codecs: their authors write how values become bytes, and how they come back.

Input: values as numpy arrays, or bytes. Output: codecs with the methods that binders and writers call. Open
`fixed_width.py` first. `authored.py` has what all of them share. They use the public parts of `spi` only.
"""
