"""What a version of a table consists of: manifests, fragments, deleted rows, row ids, references.

In: the folder of a table on any filesystem. Out: frozen facts, checked; no data file is opened here.

| Module | Open it for |
|---|---|
| `versions` | from a folder and what the caller asked for (number, tag, moment, branch) to one manifest; start here |
| `path_kinds` | whether a path is a file, a table or a folder of files |
| `names` | names of manifests: both schemes, and detached versions |
| `manifest`, `feature_flags` | one manifest's bytes to `ManifestMeta` |
| `table_facts` | `TableFacts`: what every fragment of a version needs to know; schema and places |
| `fragments` | fragments, their data files, their deletion files |
| `base_paths`, `base_scope` | where a file lies that a manifest names; what may not be named, or followed |
| `deletions`, `arrow_numbers` | either form of deletion file to sorted row offsets, counted before they are listed |
| `seals` | checksums of manifests and deletion files |
| `row_ids` | stable row ids, searchable without being expanded |
| `row_id_index` | which fragment and row has an id, over all fragments |
| `row_id_writing` | stable row ids and row versions of new fragments |
| `zone_indices` | which ZONEMAP indices there are |
| `references` | tags and branches |
| `draft`, `writing` | the next version's manifest from one version's, and its bytes |

Forbidden here: pyarrow.dataset, decoding of columns, writing files.
"""
