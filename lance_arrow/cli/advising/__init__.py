"""`advise`: column options that suit the data, found by writing a sample with each installed codec and layout.

| Module | Content |
|---|---|
| `advise_command` | the command |
| `advice` | the report: samples, tries and chooses |
| `candidates` | the column options to try |
| `trials` | one column written and read with some options: bytes and times |
| `advise_render` | text of the report |
"""
