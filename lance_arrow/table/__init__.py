"""Tables: versions, time travel, history, changes.

In: the folder of a table, and which version, or rows to write. Out: live rows,
schema, history; a dataset; new versions.

| Module | Open it for |
|---|---|
| `lance_table` | `LanceTable`: start here |
| `table_edits`, `changes` | the part of it that writes rows: files first, then one commit |
| `updates` | rows that change and move |
| `merges/` | rows of a source matched by keys with those of a table |
| `writable_branch` | a line of versions that can be written, again when others were first |
| `data_files`, `deletion_files`, `row_fitting` | rows into files, which rows are gone, rows as tables want them |
| `row_addresses` | rows as a bitmap for each fragment |
| `row_deletion`, `moved_rows` | rows that leave their fragments, and what of them stays the same elsewhere |
| `written_files` | what is removed again when there is no commit |
| `operations/` | what a commit may do: as a transaction, and as what it makes of a version |
| `commit`, `conflicts`, `strategies` | one commit; which operations may follow each other; who is first |
| `tags` | tags, and what changes them |
| `named_versions` | what tags and branches share: a file for each name |
| `history` | what made each version |
| `changed_rows/` | how two versions differ, and the rows by which they do |
| `table_reads` | the part of it that reads rows |
| `table_handle`, `table_upkeep` | what its parts share; the part that changes columns and indices, and tidies up |
| `table_settings` | the part for configuration and metadata |
| `method_arguments`, `late_changes` | arguments of its methods; modules that change tables, imported when first used |
| `column_changes`, `replacement` | columns added, dropped, renamed, cast, computed anew |
| `column_sources`, `added_files`, `field_paths` | their values, the files of those, which fields they are |
| `compaction` | few large fragments of many small ones |
| `rewritten_rows`, `group_threads` | their rows, copied or encoded; some groups of fragments at once |
| `cleanup` | old versions, and files that nothing needs |
| `distributed/` | data files of many processes, one commit |
| `branches`, `copies/` | lines, and tables, that begin with a version of another |
| `zone_index` | ZONEMAP indices: made, committed, listed |
| `verifying` | every file of a version compared with its checksums and decoded |
| `salvaging/` | rows of damaged tables, and reports of what is lost |
| `transactions` | the record of one commit |

The content of a version is read in `lance_arrow.manifests`, how its fragments become rows in
`lance_arrow.scan.fragments`.
Forbidden here: bytes of data files, pyarrow's dataset machinery but through `arrow_dataset`.
"""
