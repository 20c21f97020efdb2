"""Tables: versions, time travel, history.

In: the folder of a table, and which version. Out: live rows, schema, history; a dataset.

| Module | Open it for |
|---|---|
| `lance_table` | `LanceTable`: start here |
| `history` | what made each version |
| `transactions` | the record of one commit |

What a version consists of is read in `lance_arrow.manifests`, how its fragments become rows in `lance_arrow.datasets`.
Forbidden here: bytes of data files, pyarrow's dataset machinery but through `datasets`.
"""
