"""Conversion: files of other formats into Lance, and Lance back into files of other formats.

what is named ─► inputs ─► one schema, before a row is read ─► rows, input by input ─► a hidden file, or files of a
table ─► verified ─► the target's name

| Module | Open it for |
|---|---|
| `converting` | `convert`: start here |
| `exporting` | `export`, the way back |
| `salvaging` | `salvage`: a damaged file or table, as far as it can be saved |
| `reports` | what the first two report |
| `sources` | from paths, folders, patterns to inputs |
| `formats` | formats by bytes and by name |
| `hive` | keys in names of folders |
| `planning` | the plan: one schema for all inputs |
| `schemas` | merging types without changing a value |
| `casting` | checked casts of rows |
| `type_names`, `schema_files` | types and schemas as text, and out of files |
| `readers`, `text_readers`, `long_integers` | reading inputs in batches of bounded size |
| `writing` | the file or table, verified |
| `targets` | where a conversion may write |
"""
