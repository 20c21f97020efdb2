"""Salvage of one damaged file: the rows that can still be read, and a report of those that cannot.

In: a file whose footer, column metadata or pages are damaged. Out: tables of rows, each the original one, and a report.

| Module | Open it for |
|---|---|
| `file_salvage` | `FileSalvage`: the rows of a damaged file; start here |
| `damaged_reads` | reads of an open file that go on after damage |
| `rows_salvage` | which rows of a file or fragment can be saved, by all columns |
| `column_salvage` | which rows of one column can be read |
| `rebuilt_end` | tables and footer of a file, rebuilt and proven by its checksums |
| `guessed_end` | the same without checksums, from what the parts say of each other |
| `row_runs` | unions and intersections of runs of rows |
| `reports` | `SalvageReport` and the runs of rows that were lost |
"""
