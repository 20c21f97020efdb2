"""From a request (columns, filter, rows) to record batches of one file or of the fragments of a table.

In: open files and what is wanted of them. Out: record batches whose memory is Arrow's own, and counts of what was read.

| Module | Open it for |
|---|---|
| `row_reader` | `RowReader`: rows of columns of one file (of 0.1, 2.0: `legacy/`) |
| `file_pages` | columns and pages of one file: metadata, binding, which pages hold rows |
| `joined_rows` | the same for many small files read as one |
| `native_take`, `read_plan` | rows through the native engine; what reads of the same columns ask of it |
| `row_weights` | bytes of rows before they are read; a bound for small files that expand to huge tables |
| `sparse_selection` | rows in many short runs |
| `refused_rows`, `page_faults` | errors of rows and pages that the engine refused; the page of a layout's error |
| `blobs/` | bytes of blobs, read in a wave of their own |
| `groups/` | many files, of a table or bare ones, read in groups |
| `fragments/` | live rows of fragments of a table: files side by side, deleted rows left out |
| `ordering/` | the first rows in an order, by zone maps; some rows by number |
| `row_source` | what a scan asks of rows, of files and fragments alike |
| `open_file`, `open_files`, `file_place` | one open file, read as its version wants; files kept open; where a file is |
| `zone_reader` | zone maps of one open file (of 0.1: `legacy/v0_1_statistics`) |
| `projection`, `row_arguments`, `row_restriction` | what callers name: columns, rows, row ranges |
| `predicates`, `sql_predicates`, `computed_columns` | filters and values as users write them |
| `predicate_builder` | what SQL, Polars and Spark filters are made of: typed literals, membership, text matches |
| `filtered_reading` | what every scan is made of: live rows of a source that may satisfy a filter, read or counted |
| `filters/` | filters bound to a schema: rows of a source that satisfy one |
| `late_materialization` | other columns read only where a row is left |
| `windows`, `row_stream` | rows cut within the memory budget; rows of sources, in order, decoded ahead |
| `file_batches` | batches of one file as `LanceFile` hands them out |
| `pages_ahead`, `page_requests` | pages of far files, asked ahead of the windows of a scan |
| `row_taking` | rows by offset, in the caller's order |
| `read_counts` | what one read did, for the report that plugins get |
| `scan_options`, `expression_text` | what one scan wants; expressions as people write them |

Forbidden here: pyarrow's dataset classes, encodings, reading bytes but through `io`.
"""
