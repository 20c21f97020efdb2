"""What a commit may do: as the transaction that is recorded, and as what it makes of the version before.

`base` holds `Operation` and appends, overwrites, deletions; `rows`, `columns`, `rewriting`, `indices` and
`configuration` hold the others.
"""
