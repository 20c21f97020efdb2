"""Bytes: from any filesystem into read-only arrays, and back.

In flows what a caller names (path, URL, filesystem object, buffer, stream); out flow `Bytes`, by range. What is written
flows the other way, in order. Nothing here knows what the bytes mean.

| Module | Open it for |
|---|---|
| `source` | the `RangeSource` protocol: start here |
| `ranges` | the pure planner: wanted ranges into few requests |
| `fetching` | `fetch`, `read_coalesced`: plan, read, cut |
| `location`, `open_source` | from what the caller gave to a filesystem, and to an open source |
| `local_source`, `fsspec_source`, `arrow_source`, `buffer_source` | the four kinds of source |
| `small_files` | many small files whole |
| `foreign_errors` | exceptions of filesystems, without credentials in their text |
| `metered` | counting requests and bytes |
| `sink` | the `ByteSink` protocol: start here for writing |
| `open_sink` | from what the caller gave to an open sink |
| `local_sink`, `fsspec_sink`, `arrow_sink`, `stream_sink` | the kinds of sink, and how a file appears in each |
| `folders` | listing, making folders, small files |
| `trees` | all that lies below a folder |
| `exclusive` | making a file only if there is none |
| `verified_source` | comparing blocks with their checksums as they are read |

Forbidden here: interpreting bytes, caching content, read-ahead, printing credentials. pyarrow is known to
`arrow_source`, `arrow_sink`, `location`, `open_source`, `open_sink` and `small_files` only, as the owner of
filesystems.
"""

from lance_arrow.io.buffer_source import BufferSource
from lance_arrow.io.exclusive import can_create_exclusively, create_exclusively
from lance_arrow.io.fetching import fetch, fetch_into, read_coalesced
from lance_arrow.io.folders import file_exists, list_names, list_sizes, make_folder, remove_file, write_file
from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.io.local_source import LocalSource
from lance_arrow.io.location import AnyFileSystem, Location, resolve
from lance_arrow.io.metered import MeteredSource, ReadStats
from lance_arrow.io.open_sink import open_sink
from lance_arrow.io.open_source import locate, open_source
from lance_arrow.io.ranges import ByteRange, FetchPlan, coalesce
from lance_arrow.io.sink import ByteSink
from lance_arrow.io.small_files import read_small_files
from lance_arrow.io.source import Bytes, Coalescing, Positional, Positions, RangeSource
from lance_arrow.io.stream_sink import StreamSink
from lance_arrow.io.trees import ListedFile, list_tree
from lance_arrow.io.verified_source import VerifiedSource
from lance_arrow.redaction import redact, redact_text

__all__ = [
    "AnyFileSystem",
    "BufferSource",
    "ByteRange",
    "ByteSink",
    "Bytes",
    "Coalescing",
    "FetchPlan",
    "ListedFile",
    "LocalSource",
    "Location",
    "MeteredSource",
    "Positional",
    "Positions",
    "RangeSource",
    "ReadStats",
    "StreamSink",
    "VerifiedSource",
    "can_create_exclusively",
    "coalesce",
    "create_exclusively",
    "fetch",
    "fetch_into",
    "file_exists",
    "foreign_errors",
    "list_names",
    "list_sizes",
    "list_tree",
    "locate",
    "make_folder",
    "open_sink",
    "open_source",
    "read_coalesced",
    "read_small_files",
    "redact",
    "redact_text",
    "remove_file",
    "resolve",
    "write_file",
]
