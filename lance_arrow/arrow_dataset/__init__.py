"""Files and tables as pyarrow datasets: the format, its fragments, and pyarrow's scans answered by `lance_arrow.scan`.

| Module | Open it for |
|---|---|
| `lance_format`, `fragment_options` | `LanceFormat` and its options; start here |
| `opening`, `lance_dataset`, `lance_fragment` | `lance_arrow.dataset`, `LanceDataset`, fragments |
| `scan_handler`, `asked`, `source_scan` | pyarrow's request to windows of rows, of files and tables' fragments |
| `grouped_view`, `fragment_group`, `file_group`, `group_scan` | many small files, scanned in groups |
| `ahead/` | the same for datasets that pyarrow made, whose files are asked for one by one |
| `handler_protocol`, `places` | what the bridge asks of Python |
| `scan_plan`, `fragment_zones` | what a scan would read, and why not less; zones as row groups are listed |
| `table_dataset`, `table_parts`, `table_session`, `discovery` | versions as datasets; files found in a table's folder |
| `unified_schemas` | one schema for files whose columns differ |
| `some_rows` | scans in an order, or of some rows |
| `column_statistics`, `description` | what zone maps know of a column; what is in each column |
| `dataset_sink` | files that `pyarrow.dataset.write_dataset` writes |
| `pickling`, `rebuilding`, `dataset_parts` | how formats, datasets and fragments travel |
| `interruptible`, `scanner_options` | Ctrl-C; the options of a scan, with pyarrow's own defaults |
| `bridge/` | the native `FileFormat` |

Forbidden here: knowing encodings, Arrow C++ headers outside `bridge/`.
"""
