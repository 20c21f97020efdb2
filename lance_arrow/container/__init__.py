"""The container of one data file: footer, schema, columns, pages and shared buffers, without decoding.

Input: bytes by range (`lance_arrow.io`). Output: an Arrow schema, leaf columns, and pages as buffer ranges with opaque
descriptions. Every number of the file is checked here before memory is allocated for it. Writing: encoded pages come
in, bytes go out in order.

| Module | Open it for |
|---|---|
| `file_reader` | `LanceFileReader`, which opens a source once: start here |
| `joined_files` | `JoinedFiles`: files of one schema as one: small ones in memory, far ones by their ends |
| `joined_source` | the bytes of many far files as one source |
| `file_head` | footer, checksums and schema in one native call, for files in the usual form |
| `footer` | the last 40 bytes, versions |
| `known_tails` | columns of files that are opened again, known by the bytes of their ends |
| `metadata_bytes` | the bytes of the file's end, kept since the first read |
| `global_buffers` | buffers shared by all columns |
| `checksums`, `checksum_writer`, `file_checks` | the table of checksums: its format, writing it, checking with it |
| `columns`, `pages`, `descriptions` | column metadata on demand, pages as ranges, their descriptions |
| `stored_pages` | whole pages as bytes, compared with their checksums, for copying |
| `buffer_places` | the check of every (position, size) |
| `fields` | the field tree in the file |
| `logical_types`, `extension_types` | the format's type strings ↔ Arrow types |
| `schema` | the Arrow schema, and the physical columns of its leaves |
| `file_writer` | `FileWriter`, which places pages and ends the file: start here for writing |
| `schema_messages` | writing the file descriptor |
| `written_bytes` | protocol of an observer of the writer (checksums), which may add a buffer |
| `legacy/` | files of 0.1 in the form of columns and pages of later versions |

This package must not decode an encoding's description (the binder does), use plugins, or return protobuf messages. Only
`logical_types`, `extension_types` and `schema` import pyarrow.
"""
