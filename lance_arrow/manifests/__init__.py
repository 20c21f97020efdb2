"""Metadata of table versions: manifests, fragments, deleted rows, row ids, references.

Input: the folder of a table on any filesystem. Output: immutable, checked objects. This package opens no data file.

| Module | Open it for |
|---|---|
| `versions` | from a folder and a choice (number, tag, time, branch) to one manifest; start here |
| `path_kinds` | whether a path is a file, a table or a folder of files |
| `names` | names of manifests: both schemes, and detached versions |
| `manifest`, `feature_flags` | one manifest's bytes to `ManifestMeta` |
| `table_facts` | `TableFacts`: data that all fragments of a version share; schema and places |
| `fragments` | fragments, their data files, their deletion files |
| `base_paths`, `base_scope` | places of the files in a manifest; which names and base paths are allowed |
| `deletions`, `arrow_numbers` | both forms of deletion file to sorted row offsets, counted before they are expanded |
| `kept_deletions` | deleted rows of fragments in stores, for the versions that have them as well |
| `bitmaps` | roaring bitmaps of many numbers |
| `seals` | checksums of manifests and deletion files |
| `row_ids` | stable row ids, searchable without expanding them |
| `row_id_index` | finds fragment and row of an id, over all fragments |
| `row_id_writing` | stable row ids and row versions of new fragments |
| `version_files`, `manifest_contents` | which files versions name; small manifests read together |
| `index_section` | the indices of a version, as stored |
| `zone_indices` | the ZONEMAP indices of a version |
| `references` | tags and branches |
| `draft`, `writing` | the next version's manifest from the current one, and its bytes |

This package must not use pyarrow.dataset, decode columns, or write files.
"""
