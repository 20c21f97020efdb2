"""Salvage of tables whose manifests, data files or deletion files are damaged or missing.

newest readable manifest ─► fragment by fragment, column by column ─► rows that are proven, and a report of the others

| Module | Open it for |
|---|---|
| `table_salvage` | `TableSalvage`: the rows of a damaged table; start here |
| `fragments_salvage` | which rows of fragments can be saved |
| `damaged_reads` | reads of an open table that go on after damage |
| `salvaged_files` | data files, opened even if their end is damaged |
| `proofs` | whether manifests and deletion files have checksums |
| `reports` | `TableSalvageReport` |
"""
