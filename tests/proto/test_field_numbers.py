"""Field numbers, names and types against tables transcribed from the format's specification."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from lance_arrow.proto import (
    encodings_v20_pb2,
    encodings_v21_pb2,
    encodings_v23_pb2,
    file_schema_pb2,
    file_v2_pb2,
    rowids_pb2,
    table_pb2,
    transaction_pb2,
)

SCALARS = {
    FieldDescriptor.TYPE_UINT32: "u32",
    FieldDescriptor.TYPE_UINT64: "u64",
    FieldDescriptor.TYPE_INT32: "i32",
    FieldDescriptor.TYPE_INT64: "i64",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_STRING: "str",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_DOUBLE: "f64",
}

# One field after the other: number, name, type. "*" is repeated, "?" optional, {k:v} a map.
FILE = {
    "FileDescriptor": """1 schema Schema, 2 length u64, 1001 checksums ChecksumPlace,
        1002 zone_maps *GlobalZoneMap""",
    "GlobalZoneMap": "1 column u32, 2 rows_per_zone u32, 3 global_buffer u32",
    "Schema": "1 fields *Field, 5 metadata {str:bytes}",
    "Metadata": """1 manifest_position u64, 2 batch_offsets *i32, 3 page_table_position u64,
        5 statistics StatisticsMetadata""",
    "Metadata.StatisticsMetadata": "1 schema *Field, 2 fields *i32, 3 page_table_position u64",
    "Dictionary": "1 offset i64, 2 length i64",
    "Field": """1 type Type, 2 name str, 3 id i32, 4 parent_id i32, 5 logical_type str, 6 nullable bool,
        7 encoding Encoding, 8 dictionary Dictionary, 9 extension_name str, 10 metadata {str:bytes},
        12 unenforced_primary_key bool, 13 unenforced_primary_key_position u32,
        14 unenforced_clustering_key bool, 15 unenforced_clustering_key_position u32""",
}
FILE_V2 = {
    "DeferredEncoding": "1 buffer_location u64, 2 buffer_length u64",
    "DirectEncoding": "1 encoding bytes",
    "Encoding": "1 indirect DeferredEncoding, 2 direct DirectEncoding, 3 none Empty",
    "ColumnMetadata": "1 encoding Encoding, 2 pages *Page, 3 buffer_offsets *u64, 4 buffer_sizes *u64",
    "ColumnMetadata.Page": """1 buffer_offsets *u64, 2 buffer_sizes *u64, 3 length u64, 4 encoding Encoding,
        5 priority u64""",
}
V20 = {
    "Buffer": "1 buffer_index u32, 2 buffer_type BufferType",
    "Compression": "1 scheme str, 2 level ?i32",
    "Flat": "1 bits_per_value u64, 2 buffer Buffer, 3 compression Compression",
    "Nullable": "1 no_nulls NoNull, 2 some_nulls SomeNull, 3 all_nulls AllNull",
    "Nullable.NoNull": "1 values ArrayEncoding",
    "Nullable.SomeNull": "1 validity ArrayEncoding, 2 values ArrayEncoding",
    "FixedSizeList": "1 dimension u32, 2 items ArrayEncoding, 3 has_validity bool",
    "List": "1 offsets ArrayEncoding, 2 null_offset_adjustment u64, 3 num_items u64",
    "SimpleStruct": "",
    "Binary": "1 indices ArrayEncoding, 2 bytes ArrayEncoding, 3 null_adjustment u64",
    "Dictionary": "1 indices ArrayEncoding, 2 items ArrayEncoding, 3 num_dictionary_items u32",
    "Fsst": "1 binary ArrayEncoding, 2 symbol_table bytes",
    "PackedStruct": "1 inner *ArrayEncoding, 2 buffer Buffer",
    "Bitpacked": "1 compressed_bits_per_value u64, 2 uncompressed_bits_per_value u64, 3 buffer Buffer, 4 signed bool",
    "FixedSizeBinary": "1 bytes ArrayEncoding, 2 byte_width u32",
    "BitpackedForNonNeg": "1 compressed_bits_per_value u64, 2 uncompressed_bits_per_value u64, 3 buffer Buffer",
    "ArrayEncoding": """1 flat Flat, 2 nullable Nullable, 3 fixed_size_list FixedSizeList, 4 list List,
        5 struct SimpleStruct, 6 binary Binary, 7 dictionary Dictionary, 8 fsst Fsst, 9 packed_struct PackedStruct,
        10 bitpacked Bitpacked, 11 fixed_size_binary FixedSizeBinary, 12 bitpacked_for_non_neg BitpackedForNonNeg,
        13 constant Constant, 14 inline_bitpacking InlineBitpacking, 15 out_of_line_bitpacking OutOfLineBitpacking,
        16 variable Variable, 17 packed_struct_fixed_width_mini_block PackedStructFixedWidthMiniBlock, 18 block Block,
        19 rle Rle, 20 general_mini_block GeneralMiniBlock, 21 byte_stream_split ByteStreamSplit""",
    "ZoneIndex": "1 rows_per_zone u32, 2 zone_map_buffer Buffer, 3 inner ColumnEncoding",
    "Blob": "1 inner ColumnEncoding",
    "ColumnEncoding": "1 values Empty, 2 zone_index ZoneIndex, 3 blob Blob",
    "PageLayout": """1 mini_block_layout MiniBlockLayout, 2 all_null_layout AllNullLayout,
        3 full_zip_layout FullZipLayout""",
}
V21 = {
    "PageLayout": """1 mini_block_layout MiniBlockLayout, 2 constant_layout ConstantLayout,
        3 full_zip_layout FullZipLayout, 4 blob_layout BlobLayout""",
    "MiniBlockLayout": """1 rep_compression CompressiveEncoding, 2 def_compression CompressiveEncoding,
        3 value_compression CompressiveEncoding, 4 dictionary CompressiveEncoding, 5 num_dictionary_items u64,
        6 layers *RepDefLayer, 7 num_buffers u64, 8 repetition_index_depth u32, 9 num_items u64,
        10 has_large_chunk bool""",
    "FullZipLayout": """1 bits_rep u32, 2 bits_def u32, 3 bits_per_value u32, 4 bits_per_offset u32, 5 num_items u32,
        6 num_visible_items u32, 7 value_compression CompressiveEncoding, 8 layers *RepDefLayer""",
    "ConstantLayout": """5 layers *RepDefLayer, 6 inline_value ?bytes, 7 rep_compression CompressiveEncoding,
        8 def_compression CompressiveEncoding, 9 num_rep_values u64, 10 num_def_values u64""",
    "BlobLayout": "1 inner_layout PageLayout, 2 layers *RepDefLayer",
    "CompressiveEncoding": """1 flat Flat, 2 variable Variable, 3 constant Constant,
        4 out_of_line_bitpacking OutOfLineBitpacking, 5 inline_bitpacking InlineBitpacking, 6 fsst Fsst,
        7 dictionary Dictionary, 8 rle Rle, 9 byte_stream_split ByteStreamSplit, 10 general General,
        11 fixed_size_list FixedSizeList, 12 packed_struct PackedStruct, 13 variable_packed_struct VariablePackedStruct,
        14 range Range, 15 delta Delta, 1001 private_codec PrivateCodec""",
    "Flat": "1 bits_per_value u64, 2 data BufferCompression",
    "Variable": "1 offsets CompressiveEncoding, 2 values BufferCompression",
    "Constant": "1 value ?bytes",
    "OutOfLineBitpacking": "1 uncompressed_bits_per_value u64, 3 values CompressiveEncoding",
    "InlineBitpacking": "1 uncompressed_bits_per_value u64, 2 values BufferCompression",
    "Fsst": "1 symbol_table bytes, 2 values CompressiveEncoding",
    "Dictionary": "1 indices CompressiveEncoding, 2 items CompressiveEncoding, 3 num_dictionary_items u32",
    "Rle": "1 values CompressiveEncoding, 2 run_lengths CompressiveEncoding",
    "ByteStreamSplit": "1 values CompressiveEncoding",
    "General": "1 compression BufferCompression, 3 values CompressiveEncoding",
    "FixedSizeList": "1 items_per_value u64, 2 values CompressiveEncoding, 3 has_validity bool",
    "PackedStruct": "1 bits_per_value *u64, 2 values CompressiveEncoding",
    "VariablePackedStruct": "1 fields *FieldEncoding",
    "VariablePackedStruct.FieldEncoding": "1 value CompressiveEncoding, 2 bits_per_value u64, 3 bits_per_length u64",
    "BufferCompression": "1 scheme CompressionScheme, 2 level ?i32",
    "Range": "1 uncompressed_bits_per_value u64, 2 start u64, 3 step u64",
    "Delta": "1 uncompressed_bits_per_value u64, 2 base u64, 3 deltas CompressiveEncoding",
    "PrivateCodec": "1 id str, 2 distribution str, 3 config bytes, 4 children *CompressiveEncoding",
}
V23 = {
    "PlanarLayout": "1 structure StructuralPlane, 2 values ValuePlane",
    "StructuralPlane": "1 dense DenseStructure, 2 sparse SparseStructure",
    "DenseStructure": "1 layers *RepDefLayer",
    "SparseStructure": "1 layers *SparseLayer",
    "SparseLayer": "1 validity SparseValiditySet, 2 list SparseListLayer, 3 fixed_size_list SparseFslLayer",
    "SparseValiditySet": "1 meaning Meaning, 2 positions CompressiveEncoding, 3 num_positions u64",
    "SparseListLayer": """1 num_child_slots u64, 2 non_empty_positions CompressiveEncoding,
        3 num_non_empty_positions u64, 4 counts CompressiveEncoding, 5 validity SparseValiditySet""",
    "SparseFslLayer": "1 dimension u64, 2 validity SparseValiditySet",
    "ValuePlane": """1 chunked ChunkedValues, 2 zipped ZippedValues, 3 constant ConstantValues, 4 none NoValues,
        5 indexed IndexedValues""",
    "ChunkedValues": """1 value_compression CompressiveEncoding, 2 levels ChunkedLevels,
        3 dictionary CompressiveEncoding, 4 num_dictionary_items u64, 5 num_buffers u64, 6 num_items u64""",
    "ChunkedLevels": """1 rep_compression CompressiveEncoding, 2 def_compression CompressiveEncoding,
        3 repetition_index_depth u32""",
    "ZippedValues": """1 value_compression CompressiveEncoding, 2 levels ZippedLevels, 3 bits_per_value u32,
        4 bits_per_offset u32, 5 num_items u64, 6 num_visible_items u64""",
    "ZippedLevels": "1 bits_rep u32, 2 bits_def u32",
    "ConstantValues": "1 scalar ?bytes",
    "IndexedValues": "1 indices CompressiveEncoding, 2 items ZippedValues",
}
TABLE = {
    "UUID": "1 uuid bytes",
    "Manifest": """1 fields *Field, 2 fragments *DataFragment, 3 version u64, 4 version_aux_data u64,
        5 schema_metadata {str:bytes}, 6 index_section ?u64, 7 timestamp Timestamp, 8 tag str,
        9 reader_feature_flags u64, 10 writer_feature_flags u64, 11 max_fragment_id ?u32, 12 transaction_file str,
        13 writer_version WriterVersion, 14 next_row_id u64, 15 data_format DataStorageFormat, 16 config {str:str},
        18 base_paths *BasePath, 19 table_metadata {str:str}, 20 branch ?str, 21 transaction_section_deprecated ?u64,
        22 fragment_tree ?bytes, 23 transaction_section ?u64, 24 max_allocated_field_id ?u64, 25 clustering *Clustering,
        26 max_clustering_id ?u32""",
    "Manifest.WriterVersion": "1 library str, 2 version str, 3 prerelease ?str, 4 build_metadata ?str",
    "Manifest.Clustering": "1 id u32, 2 columns *i32, 3 provider str, 4 version u64",
    "Manifest.DataStorageFormat": "1 file_format str, 2 version str",
    "BasePath": "1 id u32, 2 name ?str, 3 is_dataset_root bool, 4 path str",
    "VersionAuxData": "3 metadata {str:bytes}",
    "DataFragment": """1 id u64, 2 files *DataFile, 3 deletion_file DeletionFile, 4 physical_rows u64,
        5 inline_row_ids bytes, 6 external_row_ids ExternalFile, 7 inline_last_updated_at_versions bytes,
        8 external_last_updated_at_versions ExternalFile, 9 inline_created_at_versions bytes,
        10 external_created_at_versions ExternalFile, 11 overlays *DataOverlayFile, 12 opaque_row_ids bytes,
        13 opaque_last_updated_at_versions bytes, 14 opaque_created_at_versions bytes, 15 clustering_id ?u32,
        16 metadata {str:str}""",
    "DataFile": """1 path str, 2 fields *i32, 3 column_indices *i32, 4 file_major_version u32, 5 file_minor_version u32,
        6 file_size_bytes u64, 7 base_id ?u32""",
    "DataOverlayFile": """1 data_file DataFile, 2 shared_offset_bitmap bytes, 3 committed_version u64,
        4 field_coverage FieldCoverage""",
    "DeletionFile": """1 file_type DeletionFileType, 2 read_version u64, 3 id u64, 4 num_deleted_rows u64,
        7 base_id ?u32""",
    "ExternalFile": "1 path str, 2 offset u64, 3 size u64",
    "IndexMetadata": """1 uuid UUID, 2 fields *i32, 3 name str, 4 dataset_version u64, 5 fragment_bitmap bytes,
        6 index_details Any, 7 index_version ?i32, 8 created_at ?u64, 9 base_id ?u32, 10 files *IndexFile,
        11 covering_fields *i32, 12 clustering_id ?u32, 13 metadata {str:str}""",
    "IndexMetadata.IndexFile": "1 path str, 2 size_bytes u64",
    "IndexSection": "1 indices *IndexMetadata",
    "ZoneMapIndexDetails": "1 rows_per_zone ?u64, 2 use_seeds ?bool, 3 has_null_bitmap ?bool",
}
ROWIDS = {
    "RowIdSequence": "1 segments *U64Segment",
    "U64Segment": """1 range Range, 2 range_with_holes RangeWithHoles, 3 range_with_bitmap RangeWithBitmap,
        4 sorted_array EncodedU64Array, 5 array EncodedU64Array""",
    "U64Segment.Range": "1 start u64, 2 end u64",
    "U64Segment.RangeWithHoles": "1 start u64, 2 end u64, 3 holes EncodedU64Array",
    "U64Segment.RangeWithBitmap": "1 start u64, 2 end u64, 3 bitmap bytes",
    "EncodedU64Array": "1 u16_array U16Array, 2 u32_array U32Array, 3 u64_array U64Array",
    "EncodedU64Array.U16Array": "1 base u64, 2 offsets bytes",
    "EncodedU64Array.U32Array": "1 base u64, 2 offsets bytes",
    "EncodedU64Array.U64Array": "2 values bytes",
    "RowDatasetVersionSequence": "1 runs *RowDatasetVersionRun",
    "RowDatasetVersionRun": "1 span U64Segment, 2 version u64",
}
TRANSACTION = {
    "Transaction": """1 read_version u64, 2 uuid str, 3 tag str, 4 transaction_properties {str:str}, 100 append Append,
        101 delete Delete, 102 overwrite Overwrite, 103 create_index CreateIndex, 104 rewrite Rewrite, 105 merge Merge,
        106 restore Restore, 107 reserve_fragments ReserveFragments, 108 update Update, 109 project Project,
        110 update_config UpdateConfig, 111 data_replacement DataReplacement, 112 update_mem_wal_state bytes,
        113 clone Clone, 114 update_bases UpdateBases, 115 data_overlay DataOverlay""",
    "Transaction.Append": "1 fragments *DataFragment",
    "Transaction.Delete": "1 updated_fragments *DataFragment, 2 deleted_fragment_ids *u64, 3 predicate str",
    "Transaction.Overwrite": """1 fragments *DataFragment, 2 schema *Field, 3 schema_metadata {str:bytes},
        4 config_upsert_values {str:str}, 5 initial_bases *BasePath""",
    "Transaction.CreateIndex": "1 new_indices *IndexMetadata, 2 removed_indices *IndexMetadata",
    "Transaction.Rewrite": """1 old_fragments *DataFragment, 2 new_fragments *DataFragment, 3 groups *RewriteGroup,
        4 rewritten_indices *RewrittenIndex""",
    "Transaction.Rewrite.RewriteGroup": "1 old_fragments *DataFragment, 2 new_fragments *DataFragment",
    "Transaction.Rewrite.RewrittenIndex": """1 old_id UUID, 2 new_id UUID, 3 new_index_details Any,
        4 new_index_version u32, 5 new_index_files *IndexFile""",
    "Transaction.Merge": """1 fragments *DataFragment, 2 schema *Field, 3 schema_metadata {str:bytes},
        4 preserves_nullability bool""",
    "Transaction.Restore": "1 version u64",
    "Transaction.ReserveFragments": "1 num_fragments u32",
    "Transaction.Update": """1 removed_fragment_ids *u64, 2 updated_fragments *DataFragment,
        3 new_fragments *DataFragment, 4 fields_modified *u32, 5 mem_wal_progress *bytes,
        6 fields_for_preserving_frag_bitmap *u32, 7 update_mode UpdateMode,
        8 inserted_rows KeyExistenceFilter, 9 updated_fragment_offsets {u64:UInt32List},
        10 updated_fragment_offset_bitmaps {u64:bytes}""",
    "Transaction.KeyExistenceFilter": "1 field_ids *i32, 2 exact ExactKeySetFilter, 3 bloom BloomFilter",
    "Transaction.ExactKeySetFilter": "1 key_hashes *u64",
    "Transaction.BloomFilter": "1 bitmap bytes, 2 num_bits u32, 3 number_of_items u64, 4 probability f64",
    "Transaction.Project": "1 schema *Field, 2 preserves_nullability bool",
    "Transaction.UpdateMapEntry": "1 key str, 2 value ?str",
    "Transaction.UpdateMap": "1 update_entries *UpdateMapEntry, 2 replace bool",
    "Transaction.UpdateConfig": """1 upsert_values {str:str}, 2 delete_keys *str, 3 schema_metadata {str:str},
        4 field_metadata {u32:FieldMetadataUpdate}, 6 config_updates UpdateMap, 7 table_metadata_updates UpdateMap,
        8 schema_metadata_updates UpdateMap, 9 field_metadata_updates {i32:UpdateMap}""",
    "Transaction.UpdateConfig.FieldMetadataUpdate": "5 metadata {str:str}",
    "Transaction.DataReplacement": "1 replacements *DataReplacementGroup",
    "Transaction.DataReplacementGroup": "1 fragment_id u64, 2 new_file DataFile",
    "Transaction.Clone": "1 is_shallow bool, 2 ref_name ?str, 3 ref_version u64, 4 ref_path str, 5 branch_name ?str",
    "Transaction.UpdateBases": "1 new_bases *BasePath",
    "Transaction.DataOverlay": "1 groups *DataOverlayGroup",
    "Transaction.DataOverlayGroup": "1 fragment_id u64, 2 overlays *DataOverlayFile",
}

FAMILIES = [
    (file_schema_pb2, "lance.file", FILE),
    (file_v2_pb2, "lance.file.v2", FILE_V2),
    (encodings_v20_pb2, "lance.encodings", V20),
    (encodings_v21_pb2, "lance.encodings21", V21),
    (encodings_v23_pb2, "lance.encodings23", V23),
    (table_pb2, "lance.table", TABLE),
    (rowids_pb2, "lance.table", ROWIDS),
    (transaction_pb2, "lance.table", TRANSACTION),
]
CASES = [(module, name, fields) for module, _, table in FAMILIES for name, fields in table.items()]


def find(module: object, dotted: str) -> Descriptor:
    holder = module
    for part in dotted.split("."):
        holder = getattr(holder, part)
    return holder.DESCRIPTOR


def type_text(field: FieldDescriptor) -> str:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        key, value = field.message_type.fields_by_number[1], field.message_type.fields_by_number[2]
        return f"{{{type_text(key)}:{type_text(value)}}}"
    named = field.message_type or field.enum_type
    text = named.name if named is not None else SCALARS[field.type]
    if field.is_repeated:
        return "*" + text
    optional = field.containing_oneof is not None and field.containing_oneof.name.startswith("_")
    return "?" + text if optional else text


def transcribed(text: str) -> list[tuple[int, str, str]]:
    entries = [entry.split() for entry in text.split(",") if entry.strip()]
    return [(int(number), name, kind) for number, name, kind in entries]


@pytest.mark.parametrize(("module", "name", "fields"), CASES, ids=[f"{m.DESCRIPTOR.name}:{n}" for m, n, _ in CASES])
def test_fields_are_those_of_the_specification(module, name, fields):
    descriptor = find(module, name)
    actual = [(field.number, field.name, type_text(field)) for field in descriptor.fields]
    assert sorted(actual) == transcribed(fields)


@pytest.mark.parametrize(("module", "package", "_table"), FAMILIES, ids=[m.DESCRIPTOR.name for m, _, _ in FAMILIES])
def test_package_is_the_wire_name_and_the_file_name_is_ours(module, package, _table):
    assert module.DESCRIPTOR.package == package
    assert module.DESCRIPTOR.name.startswith("lance_arrow/proto/")


def enum_values(enum) -> dict[str, int]:
    return {value.name: value.number for value in enum.DESCRIPTOR.values}


@pytest.mark.parametrize("module", [encodings_v20_pb2, encodings_v21_pb2])
def test_layers_have_the_numbers_of_the_specification(module):
    names = "ALL_VALID_ITEM ALL_VALID_LIST NULLABLE_ITEM NULLABLE_LIST EMPTYABLE_LIST NULL_AND_EMPTY_LIST"
    assert enum_values(module.RepDefLayer) == {
        "REP_DEF_LAYER_UNSPECIFIED": 0,
        **{name: number for number, name in enumerate(names.split(), start=1)},
    }


def test_enums_have_the_numbers_of_the_specification():
    assert enum_values(encodings_v21_pb2.CompressionScheme) == {
        "COMPRESSION_SCHEME_UNSPECIFIED": 0,
        "LZ4": 1,
        "ZSTD": 2,
    }
    assert enum_values(file_schema_pb2.Encoding) == {
        "NONE": 0,
        "PLAIN": 1,
        "VAR_BINARY": 2,
        "DICTIONARY": 3,
        "RLE": 4,
    }
    assert enum_values(file_schema_pb2.Field.Type) == {"PARENT": 0, "REPEATED": 1, "LEAF": 2}
    assert enum_values(table_pb2.DeletionFile.DeletionFileType) == {"ARROW_ARRAY": 0, "BITMAP": 1}
    assert enum_values(transaction_pb2.Transaction.UpdateMode) == {"REWRITE_ROWS": 0, "REWRITE_COLUMNS": 1}
    assert enum_values(encodings_v20_pb2.Buffer.BufferType) == {"page": 0, "column": 1, "file": 2}
    assert enum_values(encodings_v23_pb2.SparseValiditySet.Meaning) == {
        "MEANING_UNSPECIFIED": 0,
        "NULL_POSITIONS": 1,
        "VALID_POSITIONS": 2,
    }


@pytest.mark.parametrize(
    ("descriptor", "oneof", "cases"),
    [
        (encodings_v20_pb2.ArrayEncoding, "array_encoding", 21),
        (encodings_v20_pb2.ColumnEncoding, "column_encoding", 3),
        (encodings_v21_pb2.PageLayout, "layout", 4),
        (encodings_v21_pb2.CompressiveEncoding, "compression", 16),
        (encodings_v21_pb2.FullZipLayout, "details", 2),
        (encodings_v23_pb2.StructuralPlane, "plane", 2),
        (encodings_v23_pb2.ValuePlane, "plane", 5),
        (file_v2_pb2.Encoding, "location", 3),
        (rowids_pb2.U64Segment, "segment", 5),
        (rowids_pb2.EncodedU64Array, "array", 3),
        (transaction_pb2.Transaction, "operation", 16),
    ],
)
def test_choices_are_oneofs(descriptor, oneof, cases):
    assert len(descriptor.DESCRIPTOR.oneofs_by_name[oneof].fields) == cases
