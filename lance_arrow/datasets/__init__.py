"""Lance files as datasets: pyarrow's view of them, and one file by itself.

In: paths, buffers, filesystems, and pyarrow's scan requests. Out: record batches, tables, genuine pyarrow datasets.

| Module | Open it for |
|---|---|
| `lance_file` | `LanceFile`: one file without the native bridge; start here |
| `whole_files` | `read_table`, `read_schema`, `read_metadata` |
| `projection`, `predicates`, `windows` | what is wanted: columns, rows, row ranges per task |
| `scan`, `open_files` | `FileScanHandler`: pyarrow's request to windows of rows; files kept open |
| `format`, `opening`, `lance_dataset`, `fragment` | `LanceFormat`, `lance_arrow.dataset`, `LanceDataset`, fragments |
| `handler`, `places` | what the bridge asks of Python |
| `bridge_loading`, `_bridge`, `*.hpp` | the native `FileFormat`: version check, gate at exit, thread pool, generators |
| `pickling`, `rebuilding` | how formats, datasets and fragments travel |
| `table_guard` | table directories, refused for now |

Forbidden here: knowing encodings, reading bytes but through `io`, Arrow C++ headers outside the bridge's files.
"""
