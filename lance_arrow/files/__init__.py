"""One Lance file by itself: read, written, verified; works without the native bridge.

In: a path, a buffer or a stream, and columns, rows, filters, options. Out: tables, batches, counts, reports, files.

| Module | Open it for |
|---|---|
| `lance_file` | `LanceFile`: one open file; start here |
| `whole_files` | `read_table`, `read_schema`, `read_metadata` |
| `frame_reads` | `head`, `sample`, frames of pandas and Polars: alike for files, datasets and tables |
| `blob_file` | one blob as a file object |
| `lance_writer`, `write_options` | `LanceWriter`, `write_table`, and the options that every writer has |
| `batch_inputs`, `stored_rows`, `offset_checks` | what may be written, as files store it, checked |
| `writer_plan` | what writers of one schema have in common |
| `row_writers`, `row_writer` | columns to pages of an open file; which writer fits a version (2.0: `legacy/`) |
| `copied_rows`, `copying_row_writer` | pages of other files as pages of a new one: which, and how |
| `data_file_writer` | a data file of a table, whose schema bears field ids |
| `verification`, `checksum_audit` | `verify`: every checksum compared, every page decoded |
| `salvaging/` | rows of damaged files, and reports of what is lost |
| `zone_building` | `build_zones`: zone maps beside files that have none |

Forbidden here: tables, pyarrow's dataset machinery, encodings.
"""
