# The fragments of a manifest, all in one call.

cdef extern from "engine/tables/manifest_fragments.hpp" namespace "lance_arrow::engine" nogil:
    const int64_t kFragmentFacts

    cdef cppclass ManifestParts:
        string rest, schema
        vector[int64_t] fragments

    cdef struct FragmentRules:
        cbool trusts_counts
        cbool has_row_ids
        uint64_t next_row_id
        const uint64_t* base_ids
        int64_t num_bases

    cdef cppclass FragmentFacts:
        pass

    cppclass _NamedFiles "lance_arrow::engine::NamedFiles":
        void add(string_view, vector[int64_t]*)
        const vector[string]& names()

    cbool _split_manifest "lance_arrow::engine::split_manifest"(string_view, ManifestParts*)
    cbool _read_fragment "lance_arrow::engine::read_fragment"(string_view, const FragmentRules&, FragmentFacts*)


NUM_FRAGMENT_FACTS = kFragmentFacts


def split_manifest(bytes body not None) -> tuple[bytes, bytes, bytes] | None:
    """Split the message of a manifest.

    Returns
    -------
    tuple or None
        None if its fields cannot be parsed. Otherwise the message without its fragments, and the Schema message of its
        fields and schema metadata. Last, first byte and size of each fragment's message, ``(n, 2) int64`` as bytes.
    """
    cdef ManifestParts parts
    if not _split_manifest(string_view(<const char*>body, len(body)), &parts):
        return None
    cdef const char* places = <const char*>parts.fragments.data()
    return parts.rest, parts.schema, places[:8 * parts.fragments.size()] if parts.fragments.size() else b""


def read_fragments(
    bytes body not None, const int64_t[:, ::1] places not None, bint trusts_counts, next_row_id,
    const uint64_t[::1] base_ids not None, int64_t[:, ::1] facts not None, uint8_t[::1] flags not None,
) -> int:
    """Check the fragments of a manifest.

    Parameters
    ----------
    body
        The manifest's message.
    places
        ``(n, 2) int64``: from `split_manifest`.
    trusts_counts
        Whether the stored numbers of rows are reliable.
    next_row_id
        The first unused row id, in tables with stable row ids: each fragment must have ids below it, one for each row.
        None in other tables.
    base_ids
        ``(m,) uint64``: ids of the base paths of the manifest.
    facts
        ``(n, NUM_FRAGMENT_FACTS) int64``, written for valid fragments. The columns are the id, and the live rows (-1 if
        only files show them). Then first byte in `body` and size of the path of the first data file (0 if there is
        none). Then its bytes, and its base path (-1 for none). Then the number of data files, and whether there is a
        deletion file. Last, rows with deleted ones (-1 if only files show them), and bytes of all data files of known
        size.
    flags
        ``(n,) uint8``: 1 for valid fragments, 0 for those that Python must check.

    Returns
    -------
    int
        Number of fragments that Python must check.
    """
    cdef int64_t number, n = places.shape[0], num_open = 0
    cdef FragmentRules rules = _rules_of(trusts_counts, next_row_id, base_ids)
    cdef const char* data = body
    cdef string_view message
    if facts.shape[0] != n or facts.shape[1] != kFragmentFacts or flags.shape[0] != n:
        raise refusal(b"arrays over fragments have contradicting lengths", -1, 0)
    _check_places(body, places)
    with nogil:
        for number in range(n):
            message = string_view(data + places[number, 0], places[number, 1])
            flags[number] = _read_fragment(message, rules, <FragmentFacts*>&facts[number, 0])
            facts[number, 2] += places[number, 0]
            num_open += 1 - flags[number]
    return num_open


cdef FragmentRules _rules_of(bint trusts_counts, next_row_id, const uint64_t[::1] base_ids) except *:
    cdef FragmentRules rules
    rules.trusts_counts, rules.has_row_ids = trusts_counts, next_row_id is not None
    rules.next_row_id = 0 if next_row_id is None else next_row_id
    rules.num_bases = base_ids.shape[0]
    rules.base_ids = &base_ids[0] if base_ids.shape[0] else NULL
    return rules


cdef int _check_places(bytes body, const int64_t[:, ::1] places) except -1:
    """Raise if a fragment does not lie inside the manifest."""
    cdef int64_t number, size = len(body)
    if places.shape[1] != 2:
        raise refusal(b"arrays over fragments have contradicting lengths", -1, 0)
    for number in range(places.shape[0]):
        if min(places[number, 0], places[number, 1]) < 0 or places[number, 0] > size - places[number, 1]:
            raise refusal(b"a fragment lies outside the manifest", number, 0)
    return 0


cdef class NamedFiles:
    """Files that the fragments of many manifests name: versions share most of them, and each name is made once."""

    cdef _NamedFiles native
    cdef list _names

    def __cinit__(self):
        self._names = []

    def of(
        self, bytes body not None, const int64_t[:, ::1] places not None, bint trusts_counts, next_row_id,
        const uint64_t[::1] base_ids not None,
    ) -> set[str] | None:
        """Return the files of a manifest, as paths below the folder of its table.

        Parameters are those of `read_fragments`, which would have to check a fragment in Python where this is None.
        """
        cdef int64_t number, n = places.shape[0]
        cdef FragmentRules rules = _rules_of(trusts_counts, next_row_id, base_ids)
        cdef FragmentFacts facts
        cdef vector[int64_t] found
        cdef const char* data = body
        cdef string_view message
        cdef cbool is_sound = True
        _check_places(body, places)
        with nogil:
            for number in range(n):
                message = string_view(data + places[number, 0], places[number, 1])
                is_sound = _read_fragment(message, rules, &facts)
                if not is_sound:
                    break
                self.native.add(message, &found)
        if not is_sound:
            return None
        for number in range(len(self._names), <int64_t>self.native.names().size()):
            self._names.append(self.native.names()[number].decode("latin-1"))
        return {self._names[number] for number in found}
