"""Lance files and tables as datasets: pyarrow's view of them, and one file by itself.

In: paths, buffers, filesystems, and pyarrow's scan requests. Out: record batches, tables, genuine pyarrow datasets.

| Module | Open it for |
|---|---|
| `lance_file` | `LanceFile`: one file without the native bridge; start here |
| `whole_files` | `read_table`, `read_schema`, `read_metadata` |
| `projection`, `predicates`, `windows` | what is wanted: columns, rows, row ranges per task |
| `scan`, `open_files` | `FileScanHandler`: pyarrow's request to windows of rows; files kept open |
| `sieving`, `_sieve`, `sieve.hpp` | small files that zone maps exclude, left out without Python |
| `format`, `opening`, `lance_dataset`, `fragment` | `LanceFormat`, `lance_arrow.dataset`, `LanceDataset`, fragments |
| `handler`, `places` | what the bridge asks of Python |
| `bridge_loading`, `_bridge`, `*.hpp` | the native `FileFormat`: version check, gate at exit, thread pool, generators |
| `pickling`, `rebuilding` | how formats, datasets and fragments travel |
| `table_columns`, `field_sources` | columns of a table, and which file of a fragment each comes from |
| `fragment_rows`, `fragment_reading`, `fragment_scan` | live rows of one fragment: files side by side, what is left |
| `table_reader`, `table_dataset` | rows of a version, without the bridge and as a dataset |
| `table_taking`, `joined_fragments` | rows of many fragments at once; fragments of small files read together |
| `table_session`, `table_parts` | files found in a table's folder, and what rows they stand for |

Forbidden here: knowing encodings, reading bytes but through `io`, Arrow C++ headers outside the bridge's files.
"""
