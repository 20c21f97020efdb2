"""What plugin authors and our own tests prove contracts with; nothing at run time imports it.

`codec_suite` is inherited by the test of a codec, `samples` makes the values it stores, `twins` compares a native
kernel with plain numpy.
"""
