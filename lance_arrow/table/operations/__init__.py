"""Operations of commits: the transaction that records each, and the version that it makes from the one before.

`base` holds `Operation` and appends, overwrites, deletions; `rows`, `columns`, `rewriting`, `indices` and
`configuration` hold the others.
"""
