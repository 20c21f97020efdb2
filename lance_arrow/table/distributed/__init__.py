"""Writing in many processes: each writes data files of its own, and one process commits them together.

In: rows, in any process that reaches the table's folder. Out: fragments that pickle; then one version with all of them.

| Module | Open it for |
|---|---|
| `writing` | `write_fragments`: rows into data files that no version names yet: start here |
| `committing` | `commit_fragments`, `discard_fragments`: one version of the files of many writers, or none |
| `written_fragments` | `WrittenFragments`: what travels between them |

Spark's writer has plans and messages of its own, in `lance_arrow.spark`.
"""
