"""Tables and branches that begin with a version of another table.

In: a version, and a new place. Out: the first version there.

| Module | Open it for |
|---|---|
| `table_copies` | `TableCopies`: the part of `LanceTable` that clones: start here |
| `deep_cloning` | the first version of a clone with copies of all files |
| `cloning` | the first version of a clone or branch, whose files stay where they are |
"""
