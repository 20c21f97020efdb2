"""Many files, of a table or bare ones, read in groups.

| Module | Open it for |
|---|---|
| `group_sizes` | which neighbours are read together, and how much of them |
| `file_groups` | groups of bare files; those of fragments are `fragments/fragment_groups` |
| `opened_together`, `left_by_shown` | opening many at once; leaving some out before that |
| `grouped_rows` | `GroupedRows`: one pass over files: groups opened ahead, rows streamed or counted |
"""
