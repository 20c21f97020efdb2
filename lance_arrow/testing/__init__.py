"""What plugin authors and our own tests prove contracts with; nothing at run time imports it.

| Module | What it is for |
|---|---|
| `codec_suite` | inherited by the test of a codec; with it `native_suite` and `write_suite` |
| `array_suite` | inherited by the test of an array encoding; with it `array_damage_suite` and `array_write_suite` |
| `layout_suite` | inherited by the test of a layout |
| `samples`, `array_samples` | the values that are stored, and what reading them must give |
| `array_pages` | one page of an array encoding, read in every way there is |
| `round_trip` | encodes and decodes single blocks |
| `scattered` | page bytes as a reader fetches them, and damaged ones |
| `slot_levels` | positions as levels |
| `twins` | compares a native kernel with plain numpy |
"""
