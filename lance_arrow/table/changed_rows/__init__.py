"""Which rows changed between two versions of a table.

| Module | Content |
|---|---|
| `version_steps` | what the manifests in between record, and what they cannot tell |
| `row_changes` | rows that came, went or were updated |
| `changed_batches` | these rows as record batches |
| `version_diff` | `TableDiff`: columns, fragments and rows of two versions compared |
"""
