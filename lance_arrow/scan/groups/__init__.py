"""Many files, of a table or bare ones, read in groups.

| Module | Open it for |
|---|---|
| `group_sizes` | which neighbours are read together, and how much of them |
| `grouped_rows` | `GroupedRows`: one pass over files: groups opened ahead, rows streamed or counted |
"""
