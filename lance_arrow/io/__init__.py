"""Input and output of bytes: from any filesystem into read-only arrays, and back.

Input: a place that a caller names (path, URL, filesystem object, buffer, stream). Output: `Bytes`, by range. Writing
goes the other way, in order. This package does not interpret the bytes.

| Module | Open it for |
|---|---|
| `source` | the `RangeSource` protocol: start here |
| `ranges` | the pure planner: coalesces wanted ranges into few requests |
| `fetching` | `fetch`, `fetch_segments`, `read_coalesced`: plan, read, cut; `read_end` |
| `location`, `open_source` | find the filesystem of a caller's path, and open a source |
| `local_source`, `fsspec_source`, `arrow_source`, `obstore_source`, `buffer_source` | the kinds of source |
| `obstore_filesystem`, `obstore_stores`, `obstore_errors` | stores of obstore; imported for its objects alone |
| `sized_open` | opening files of pyarrow filesystems without asking for their size |
| `small_files` | reading many files at once: small ones completely, of others their ends |
| `pacing` | how fast stores are, and what follows for requests: a package |
| `patience`, `store_calls` | deadlines and attempts of stores, and what is raised when they are over |
| `checked_ranges` | ranges of s3fs and HTTP, compared with place and version of their answers |
| `foreign_errors` | exceptions of filesystems, without credentials in their text |
| `metered` | counting requests and bytes |
| `sink` | the `ByteSink` protocol: start here for writing |
| `open_sink` | open a sink for a caller's path |
| `local_sink`, `fsspec_sink`, `arrow_sink`, `stream_sink` | the kinds of sink, and how a file appears in each |
| `folders` | listing and creating folders, small files |
| `trees` | all files below a folder |
| `globs` | files that a pattern matches |
| `exclusive` | creating a file only if it does not exist |
| `syncing` | flushing local files to the disk |
| `ahead_source` | prefetching ranges of a remote source |
| `verified_source` | comparing blocks with their checksums as they are read |

This package must not interpret bytes, cache content, choose prefetched ranges, or print credentials. Only
`arrow_source`, `arrow_sink`, `location`, `open_source`, `open_sink`, `small_files` and `globs` import pyarrow, because
its filesystems are there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_arrow.late_names import late_names

if TYPE_CHECKING:
    from lance_arrow.io.buffer_source import BufferSource as BufferSource
    from lance_arrow.io.exclusive import can_create_exclusively as can_create_exclusively
    from lance_arrow.io.exclusive import create_exclusively as create_exclusively
    from lance_arrow.io.fetching import fetch as fetch
    from lance_arrow.io.fetching import fetch_into as fetch_into
    from lance_arrow.io.fetching import fetch_segments as fetch_segments
    from lance_arrow.io.fetching import read_coalesced as read_coalesced
    from lance_arrow.io.fetching import read_end as read_end
    from lance_arrow.io.folders import file_exists as file_exists
    from lance_arrow.io.folders import has_file as has_file
    from lance_arrow.io.folders import list_first as list_first
    from lance_arrow.io.folders import list_folders as list_folders
    from lance_arrow.io.folders import list_names as list_names
    from lance_arrow.io.folders import list_sizes as list_sizes
    from lance_arrow.io.folders import make_folder as make_folder
    from lance_arrow.io.folders import may_write_at_once as may_write_at_once
    from lance_arrow.io.folders import remove_file as remove_file
    from lance_arrow.io.folders import remove_files as remove_files
    from lance_arrow.io.folders import size_of_file as size_of_file
    from lance_arrow.io.folders import write_file as write_file
    from lance_arrow.io.foreign_errors import foreign_errors as foreign_errors
    from lance_arrow.io.local_source import LocalSource as LocalSource
    from lance_arrow.io.location import AnyFileSystem as AnyFileSystem
    from lance_arrow.io.location import Location as Location
    from lance_arrow.io.location import is_local as is_local
    from lance_arrow.io.location import is_local_kind as is_local_kind
    from lance_arrow.io.location import resolve as resolve
    from lance_arrow.io.metered import MeteredSource as MeteredSource
    from lance_arrow.io.metered import ReadStats as ReadStats
    from lance_arrow.io.open_sink import open_sink as open_sink
    from lance_arrow.io.open_source import is_plain_file as is_plain_file
    from lance_arrow.io.open_source import locate as locate
    from lance_arrow.io.open_source import open_source as open_source
    from lance_arrow.io.ranges import ByteRange as ByteRange
    from lance_arrow.io.ranges import FetchPlan as FetchPlan
    from lance_arrow.io.ranges import coalesce as coalesce
    from lance_arrow.io.ranges import requests_for as requests_for
    from lance_arrow.io.sink import ByteSink as ByteSink
    from lance_arrow.io.small_files import FileEnds as FileEnds
    from lance_arrow.io.small_files import ask_files as ask_files
    from lance_arrow.io.small_files import check_states as check_states
    from lance_arrow.io.small_files import coalescing_of as coalescing_of
    from lance_arrow.io.small_files import compares_versions as compares_versions
    from lance_arrow.io.small_files import fill_parts as fill_parts
    from lance_arrow.io.small_files import read_each as read_each
    from lance_arrow.io.small_files import read_small_files as read_small_files
    from lance_arrow.io.small_files import read_whole as read_whole
    from lance_arrow.io.small_files import reads_small_files as reads_small_files
    from lance_arrow.io.source import Bytes as Bytes
    from lance_arrow.io.source import Coalescing as Coalescing
    from lance_arrow.io.source import Positional as Positional
    from lance_arrow.io.source import Positions as Positions
    from lance_arrow.io.source import RangeSource as RangeSource
    from lance_arrow.io.stream_sink import StreamSink as StreamSink
    from lance_arrow.io.syncing import sync_files as sync_files
    from lance_arrow.io.syncing import sync_folder as sync_folder
    from lance_arrow.io.trees import ListedFile as ListedFile
    from lance_arrow.io.trees import list_tree as list_tree
    from lance_arrow.io.trees import remove_tree as remove_tree
    from lance_arrow.io.verified_source import VerifiedSource as VerifiedSource
    from lance_arrow.redaction import redact as redact
    from lance_arrow.redaction import redact_text as redact_text
else:
    __getattr__, __dir__, __all__ = late_names(
        __name__,
        {
            "lance_arrow.io.buffer_source": ("BufferSource",),
            "lance_arrow.io.exclusive": ("can_create_exclusively", "create_exclusively"),
            "lance_arrow.io.fetching": ("fetch", "fetch_into", "fetch_segments", "read_coalesced", "read_end"),
            "lance_arrow.io.folders": (
                "file_exists",
                "size_of_file",
                "has_file",
                "list_first",
                "list_folders",
                "list_names",
                "list_sizes",
                "make_folder",
                "may_write_at_once",
                "remove_file",
                "remove_files",
                "write_file",
            ),
            "lance_arrow.io.foreign_errors": ("foreign_errors",),
            "lance_arrow.io.local_source": ("LocalSource",),
            "lance_arrow.io.location": ("AnyFileSystem", "Location", "is_local", "is_local_kind", "resolve"),
            "lance_arrow.io.metered": ("MeteredSource", "ReadStats"),
            "lance_arrow.io.open_sink": ("open_sink",),
            "lance_arrow.io.open_source": ("is_plain_file", "locate", "open_source"),
            "lance_arrow.io.ranges": ("ByteRange", "FetchPlan", "coalesce", "requests_for"),
            "lance_arrow.io.sink": ("ByteSink",),
            "lance_arrow.io.small_files": (
                "ask_files",
                "check_states",
                "coalescing_of",
                "compares_versions",
                "FileEnds",
                "fill_parts",
                "read_each",
                "read_small_files",
                "read_whole",
                "reads_small_files",
            ),
            "lance_arrow.io.source": ("Bytes", "Coalescing", "Positional", "Positions", "RangeSource"),
            "lance_arrow.io.stream_sink": ("StreamSink",),
            "lance_arrow.io.syncing": ("sync_files", "sync_folder"),
            "lance_arrow.io.trees": ("ListedFile", "list_tree", "remove_tree"),
            "lance_arrow.io.verified_source": ("VerifiedSource",),
            "lance_arrow.redaction": ("redact", "redact_text"),
        },
    )
