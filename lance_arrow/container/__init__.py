"""The file, its encodings unopened: footer, schema, columns, pages and shared buffers of one data file.

In flow bytes by range (`lance_arrow.io`); out flow parsed facts: an Arrow schema, leaf columns, and pages as buffer
ranges with opaque descriptions. Every number of the file is checked here before anything is allocated for it. What is
written comes as encoded pages and leaves as bytes in order.

| Module | Open it for |
|---|---|
| `file_reader` | `LanceFileReader`, which opens a source once: start here |
| `joined_files` | `JoinedFiles`: small files of one schema, in memory, as one |
| `file_head` | footer, checksums and schema in one native call, where the file is as writers make it |
| `footer` | the last 40 bytes, versions |
| `metadata_bytes` | the bytes of the file's end, kept since the first read |
| `global_buffers` | buffers shared by all columns |
| `checksums`, `checksum_writer`, `file_checks` | the table of checksums, how it is made, what is compared with it |
| `columns`, `pages`, `descriptions` | column metadata on demand, pages as ranges, what describes them |
| `stored_pages` | whole pages as bytes, compared with their checksums, for those who copy them |
| `buffer_places` | the check every (position, size) passes |
| `fields` | the field tree on the wire |
| `logical_types`, `extension_types` | the format's type strings ↔ Arrow types |
| `schema` | the Arrow schema, and which physical columns its leaves have |
| `file_writer` | `FileWriter`, which places pages and ends the file: start here for writing |
| `schema_messages` | the file descriptor as it is written |
| `written_bytes` | what an observer of the writer (checksums) is told, and may add |
| `legacy/` | files of 0.1 told as columns and pages of later ones |

Forbidden here: opening an encoding's description (the binder does), plugins, and protobuf messages in a return value.
pyarrow is known to `logical_types`, `extension_types` and `schema` only.
"""
