"""Test suites that prove the contracts of plugins, for plugin authors and this project; not used at run time.

| Module | Purpose |
|---|---|
| `kit` | the suites for an installed distribution: ``pytest -p lance_arrow.testing.kit --lance-arrow-plugin NAME`` |
| `codec_suite` | base class for tests of a codec; includes `native_suite` and `write_suite` |
| `array_suite` | base class for tests of an array encoding; includes `array_damage_suite` and `array_write_suite` |
| `layout_suite` | base class for tests of a layout |
| `samples`, `array_samples` | stored values, and the expected results of reading them |
| `array_pages` | one page of an array encoding, read in every possible way |
| `round_trip` | encodes and decodes single blocks |
| `scattered` | page bytes as a reader fetches them, and damaged bytes |
| `slot_levels` | converts positions to levels |
| `twins` | compares a native kernel with plain numpy |
"""
