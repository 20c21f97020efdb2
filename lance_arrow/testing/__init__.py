"""What plugin authors and our own tests prove contracts with; nothing at run time imports it.

`codec_suite` (and with it `write_suite`) is inherited by the test of a codec, `samples` makes the values it stores,
`round_trip` encodes and decodes single blocks, `twins` compares a native kernel with plain numpy.
"""
