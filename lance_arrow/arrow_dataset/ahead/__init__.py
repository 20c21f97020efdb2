"""Files of datasets that pyarrow made, read or counted in groups before pyarrow asks for them one by one.

| Module | Open it for |
|---|---|
| `read_ahead` | rows of the files that follow |
| `count_ahead` | counts of far files that follow |
| `table_files` | files of a table's folder, read as its fragments |
"""
