# Leaves of a record batch, encoded and placed without Python.

cdef extern from "engine/encode/encoders/encoder_choice.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass ChunkChoice:
        vector[const LaChunkEncoder*] encoders

    cdef cppclass BlocksChoice:
        vector[const LaBlocksEncoder*] encoders

cdef extern from "engine/encode/leaves/leaf_form.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct PathStep:
        int64_t child
        cbool nullable
        int list_bits

    cdef cppclass LeafLevels:
        LeafLevels()

    cdef struct ZoneForm:
        int kind
        int64_t width
        int64_t rows_per_zone
        cbool is_text

    cdef cppclass LeafForm:
        LeafForm()
        vector[PathStep] path
        int64_t column
        int64_t bits
        int64_t offset_bits
        int64_t encoders
        ZoneForm zones

    Outcome check_leaf(const LeafForm&, const ArrowArray&, LeafLevels*, cbool*) except +

cdef extern from "engine/encode/leaves/leaf_bounds.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass StringBound:
        vector[uint8_t] bytes
        cbool exists
        cbool is_exact

    cdef cppclass LeafBounds:
        LeafBounds()
        int64_t num_zones
        vector[uint8_t] mins, maxs
        vector[StringBound] lows, highs
        vector[int64_t] values, nulls, nans

    Outcome append_bounds(const ZoneForm&, int64_t, LeafBounds&&, LeafBounds*) except +

cdef extern from "engine/encode/leaves/held_rows.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass HeldPart:
        pass

    cdef cppclass PageRows:
        size_t leaf
        int64_t first_row
        int64_t num_rows
        int64_t num_bytes
        vector[HeldPart] parts

    cdef cppclass HeldRows:
        HeldRows(const vector[LeafForm]*, int64_t, int64_t) except +
        Outcome add(ArrowArray*, vector[PageRows]*) except +
        int64_t num_bytes()
        void take_largest(int64_t, vector[PageRows]*) except +

    ArrowArray lend_rows(const HeldPart&) except +

cdef extern from "engine/encode/leaves/leaf_encoding.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass CEncoderSet "lance_arrow::engine::EncoderSet":
        cppclass Layout:
            const LaPageEncoder* encoder
            string type_url
        CEncoderSet()
        vector[Layout] layouts
        ChunkChoice chunks
        BlocksChoice blocks

    cdef cppclass EncodedLeaf:
        EncodedLeaf()
        cbool is_asked
        vector[vector[uint8_t]] buffers
        LeafBounds bounds

    cdef cppclass LeafEncoder:
        LeafEncoder()
        Outcome encode(const LeafForm&, const CEncoderSet&, const PageRows&, EncodedLeaf*) except +

cdef extern from "engine/encode/leaves/leaf_pages.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass CLeafPages "lance_arrow::engine::LeafPages":
        CLeafPages(CColumnRecords*, CBlockSums*) except +
        void begin(int64_t)
        const string& piece()
        Outcome place(const LeafForm&, const PageRows&, const EncodedLeaf&) except +

cdef extern from "engine/encode/leaves/zone_records.hpp" namespace "lance_arrow::engine" nogil:
    cbool is_packed_count(const LeafBounds&)
    string packed_zone(const LeafBounds&, int64_t, int64_t, int64_t) except +

cdef extern from *:
    """
    struct LaArrowSchema {
      const char* format; const char* name; const char* metadata; int64_t flags; int64_t n_children;
      LaArrowSchema** children; LaArrowSchema* dictionary; void (*release)(LaArrowSchema*); void* private_data;
    };
    """
    cdef struct LaArrowSchema:
        void (*release)(LaArrowSchema*)


cdef class LeafPlan:
    """Leaves of a schema that are encoded natively; shared by writers.

    Parameters
    ----------
    encoders
        For each kind of leaf: layouts ``(type URL, capsule)``, and capsules of codecs of chunks and of blocks. Each in
        the order of their names, which decides between equal scores.
    leaves
        Tuples ``(path, column, bits, bits of an offset, kind of leaf, kind of bounds, bytes of a bound, whether values
        are text, rows per zone)``. A path has ``(child of the array around it, whether nulls are allowed, bits of the
        offsets of a list or 0)`` for each node, the column of the batch first. Byte strings have no bits; their bounds have no kind. Kinds of bounds are
        those of `bound_fixed`; without a zone map, rows per zone are 0.
    """

    cdef vector[CEncoderSet] encoders
    cdef vector[LeafForm] leaves
    cdef cbool checks
    cdef object held

    def __init__(self, encoders, leaves) -> None:
        cdef CEncoderSet* found
        cdef CEncoderSet.Layout layout
        cdef LeafForm form
        cdef PathStep step
        self.held = encoders
        for layouts, chunks, blocks in encoders:
            self.encoders.emplace_back()
            found = &self.encoders.back()
            for type_url, capsule in layouts:
                layout.type_url = type_url
                layout.encoder = <const LaPageEncoder*>PyCapsule_GetPointer(capsule, _PAGE_ENCODER)
                found.layouts.push_back(layout)
            for capsule in chunks:
                found.chunks.encoders.push_back(<const LaChunkEncoder*>PyCapsule_GetPointer(capsule, _CHUNK_ENCODER))
            for capsule in blocks:
                found.blocks.encoders.push_back(<const LaBlocksEncoder*>PyCapsule_GetPointer(capsule, _BLOCKS_ENCODER))
        for leaf in leaves:
            (path, form.column, form.bits, form.offset_bits, form.encoders, form.zones.kind, form.zones.width,
             form.zones.is_text, form.zones.rows_per_zone) = leaf
            form.path.clear()
            for child, nullable, list_bits in path:
                step.child, step.nullable, step.list_bits = child, nullable, list_bits
                form.path.push_back(step)
            if not 0 <= form.encoders < <int64_t>self.encoders.size():
                raise refusal(b"a leaf has no encoders", form.column, 0)
            self.leaves.push_back(form)
            self.checks |= form.bits == 0 or not all([nullable and not list_bits for _, nullable, list_bits in path])

    def __len__(self) -> int:
        return self.leaves.size()

    def first_refused(self, batch) -> int:
        """Return the first leaf with a null that is not allowed, or with offsets that go back; -1 if there is none.

        The batch is valid as Arrow checks it without reading all rows.
        """
        cdef ArrowArray array
        cdef LaArrowSchema schema
        cdef LeafLevels levels
        cdef Outcome outcome
        cdef cbool is_refused = False
        cdef size_t leaf = 0
        if not self.checks:
            return -1
        outcome.message = NULL
        batch._export_to_c(<uintptr_t>&array, <uintptr_t>&schema)
        schema.release(&schema)
        try:
            with nogil:
                while leaf < self.leaves.size() and outcome.message == NULL and not is_refused:
                    outcome = check_leaf(self.leaves[leaf], array, &levels, &is_refused)
                    leaf += 1
        finally:
            array.release(&array)
        check_outcome(outcome)
        return <int64_t>leaf - 1 if is_refused else -1


cdef class LeafJob:
    """Pages of leaves that are encoded by one thread; made by `LeafPages.jobs`."""

    cdef LeafPlan plan
    cdef vector[PageRows] rows
    cdef vector[EncodedLeaf] pages

    def __len__(self) -> int:
        return self.rows.size()

    @property
    def num_bytes(self) -> int:
        """Bytes of the values, without encoding."""
        return sum([rows.num_bytes for rows in self.rows])

    @property
    def leaves(self) -> list[int]:
        """The leaf of each page."""
        return [rows.leaf for rows in self.rows]

    def first_row(self, int64_t number) -> int:
        """Return the first row of a page."""
        return self.rows.at(number).first_row

    def encode(self) -> list[int]:
        """Encode all pages; return the numbers of those that must be encoded in Python."""
        cdef LeafEncoder encoder
        cdef Outcome outcome
        cdef size_t number
        cdef const LeafForm* form
        outcome.message = NULL
        with nogil:
            self.pages.resize(self.rows.size())
            for number in range(self.rows.size()):
                form = &self.plan.leaves[self.rows[number].leaf]
                outcome = encoder.encode(form[0], self.plan.encoders[form.encoders], self.rows[number],
                                         &self.pages[number])
                if outcome.message != NULL:
                    break
                if not self.pages[number].is_asked:
                    self.rows[number].parts.clear()
        check_outcome(outcome)
        return [number for number in range(self.pages.size()) if self.pages[number].is_asked]

    def arrays(self, int64_t number, type_) -> list:
        """Return the rows of a page: arrays of their top-level column, of a type whose structs have one field."""
        from pyarrow import Array

        cdef ArrowArray array
        cdef size_t part
        found = []
        for part in range(self.rows.at(number).parts.size()):
            array = lend_rows(self.rows[number].parts[part])
            found.append(Array._import_from_c(<uintptr_t>&array, type_))
        return found


cdef class LeafPages:
    """Rows and pages of natively encoded leaves of one file.

    Parameters
    ----------
    plan
        The leaves.
    page_bytes, page_levels
        Most bytes of the values, and most level entries, of a page; a single row with more is a page of its own.
    records
        Metadata of the file.
    sums
        Its checksums, or None.
    """

    cdef LeafPlan plan
    cdef ColumnRecords records
    cdef BlockSums sums
    cdef unique_ptr[HeldRows] held
    cdef unique_ptr[CLeafPages] pages
    cdef vector[PageRows] full
    cdef vector[LeafBounds] bounds
    cdef vector[int64_t] page_bytes
    cdef int64_t num_rows

    def __init__(
        self, LeafPlan plan not None, int64_t page_bytes, int64_t page_levels, ColumnRecords records not None,
        BlockSums sums,
    ) -> None:
        self.plan, self.records, self.sums = plan, records, sums
        cdef CBlockSums* to = NULL
        if sums is not None:
            to = sums.sums.get()
        self.held.reset(new HeldRows(&plan.leaves, page_bytes, page_levels))
        self.pages.reset(new CLeafPages(records.records.get(), to))
        self.bounds.resize(plan.leaves.size())
        self.page_bytes.resize(plan.leaves.size())

    @property
    def held_bytes(self) -> int:
        """Memory of the rows that are no page yet."""
        return self.held.get().num_bytes()

    def hold(self, batch) -> None:
        """Add rows of a record batch that has passed ``validate``."""
        cdef ArrowArray array
        cdef LaArrowSchema schema
        cdef Outcome outcome
        batch._export_to_c(<uintptr_t>&array, <uintptr_t>&schema)
        schema.release(&schema)
        self.num_rows += array.length
        with nogil:
            outcome = self.held.get().add(&array, &self.full)
        check_outcome(outcome)

    def take_largest(self, int64_t most_left) -> None:
        """End pages of the leaves with the most bytes, until at most `most_left` are held; of all if it is negative."""
        with nogil:
            self.held.get().take_largest(most_left, &self.full)

    def jobs(self, int64_t most_bytes) -> list[LeafJob]:
        """Return the pages that have ended and were not returned before.

        Each job has one page, or several of `most_bytes` in all.
        """
        cdef LeafJob job = None
        cdef int64_t num_bytes = 0
        cdef size_t number
        found = []
        for number in range(self.full.size()):
            if job is None or num_bytes + self.full[number].num_bytes > most_bytes:
                job = LeafJob.__new__(LeafJob)
                job.plan = self.plan
                found.append(job)
                num_bytes = 0
            num_bytes += self.full[number].num_bytes
            job.rows.push_back(move(self.full[number]))
        self.full.clear()
        return found

    def place(self, LeafJob job not None, int64_t first, int64_t position) -> tuple[bytes, int]:
        """Place encoded pages until there is one that was encoded in Python.

        Parameters
        ----------
        job
            The pages.
        first
            Number of the first one.
        position
            Where the bytes will lie in the file, a multiple of 64.

        Returns
        -------
        bytes
            The pages.
        int
            The page to be placed by the caller; the number of pages at the end.
        """
        cdef Outcome outcome
        cdef size_t number = first, leaf, buffer
        cdef const LeafForm* form
        if position % 64:
            raise refusal(b"pages begin at multiples of 64", position, 0)
        outcome.message = NULL
        with nogil:
            self.pages.get().begin(position)
            while number < job.pages.size():
                leaf = job.rows[number].leaf
                form = &self.plan.leaves[leaf]
                if job.pages[number].bounds.num_zones:
                    outcome = append_bounds(form.zones, job.rows[number].first_row, move(job.pages[number].bounds),
                                            &self.bounds[leaf])
                if outcome.message != NULL or job.pages[number].is_asked:
                    break
                outcome = self.pages.get().place(form[0], job.rows[number], job.pages[number])
                if outcome.message != NULL:
                    break
                for buffer in range(job.pages[number].buffers.size()):
                    self.page_bytes[leaf] += <int64_t>job.pages[number].buffers[buffer].size()
                job.pages[number] = EncodedLeaf()
                number += 1
        check_outcome(outcome)
        return self.pages.get().piece(), number

    def add_bytes(self, int64_t leaf, int64_t num_bytes) -> None:
        """Count the bytes of a page that was encoded in Python."""
        self.page_bytes[leaf] += num_bytes

    def zone_maps(self, bytes with_zones, bytes without, int64_t position) -> tuple[bytes, list[int]]:
        """Describe columns: make the zone maps of one zone, and return the others.

        Parameters
        ----------
        with_zones, without
            Descriptions of columns with a zone map in their first buffer, and without one: serialized
            ``google.protobuf.Any``.
        position
            Where the zone maps will lie.

        Returns
        -------
        bytes
            The zone maps of all columns with one zone, to be written at `position`.
        list
            Leaves with several zones, whose columns are not described yet.
        """
        cdef string region, one
        cdef PlacedBuffers placed
        cdef vector[int64_t] others
        cdef size_t leaf
        cdef const LeafForm* form
        cdef string_view described
        cdef CColumnRecords* records = self.records.records.get()
        for leaf in range(self.plan.leaves.size()):
            form = &self.plan.leaves[leaf]
            placed.positions.clear()
            placed.sizes.clear()
            described = _bytes_view(without)
            if form.zones.rows_per_zone > 0 and self.num_rows > 0:
                if self.bounds[leaf].num_zones != 1 or not is_packed_count(self.bounds[leaf]):
                    others.push_back(leaf)
                    continue
                one = packed_zone(self.bounds[leaf], form.zones.width, form.offset_bits, self.num_rows)
                placed.positions.push_back(position + <int64_t>region.size())
                placed.sizes.push_back(<int64_t>one.size())
                one.resize((one.size() + 7) & ~<size_t>7)
                region += one
                described = _bytes_view(with_zones)
            records.describe(form.column, described, placed)
        return region, others

    def num_bytes(self, int64_t leaf) -> int:
        """Return the bytes of all pages of a leaf."""
        return self.page_bytes[leaf]

    def zones(self, int64_t leaf) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
        """Return the bounds of a leaf, as `bound_fixed` makes them."""
        cdef LeafBounds* bounds = &self.bounds[leaf]
        sides = []
        for side in range(2):
            made = numpy.empty(bounds.mins.size(), numpy.uint8)
            sides.append(made)
            _copy_side(bounds.mins if side == 0 else bounds.maxs, made)
        return sides[0], sides[1], _counts_of(bounds)

    def string_zones(self, int64_t leaf) -> tuple[list, list, numpy.ndarray]:
        """As `zones`, for a leaf of byte strings: lists of ``(bytes or None, whether they are a value)``."""
        cdef LeafBounds* bounds = &self.bounds[leaf]
        lows = [_string_bound(one) for one in bounds.lows]
        highs = [_string_bound(one) for one in bounds.highs]
        return lows, highs, _counts_of(bounds)


cdef object _counts_of(const LeafBounds* bounds):
    """The values of all zones, then the nulls, then the NaNs."""
    return numpy.concatenate([_int64_array(bounds.values), _int64_array(bounds.nulls), _int64_array(bounds.nans)])


cdef tuple _string_bound(const StringBound& bound):
    if not bound.exists:
        return None, False
    return (<const char*>bound.bytes.data())[:bound.bytes.size()], bool(bound.is_exact)


cdef int _copy_side(const vector[uint8_t]& side, uint8_t[::1] out) except -1:
    if side.size():
        memcpy(&out[0], side.data(), side.size())
    return 0


cdef extern from "lance_arrow/block_facts.hpp" namespace "lance_arrow" nogil:
    cdef struct LaBlock:
        const uint8_t* present
        int64_t num_nulls

    cdef cppclass FactsOfBlock:
        FactsOfBlock()
        LaBlock block
        Outcome set(const uint8_t*, int64_t, int64_t) except +
        void set_strings(const uint8_t*, const int64_t*, int64_t, int64_t)

cdef extern from "engine/encode/encoders/encoded.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct LaEncoded:
        pass

    cdef cppclass CEncoded "lance_arrow::engine::Encoded":
        CEncoded()
        vector[vector[uint8_t]] buffers
        vector[vector[int64_t]] sizes
        vector[int64_t] counts
        vector[uint8_t] description
        LaEncoded face()
        cbool is_whole(int64_t)

cdef extern from "engine/encode/encoders/try_encoders.hpp" namespace "lance_arrow::engine" nogil:
    double try_chunks(const LaChunkEncoder*, const LaBlock&, const LaChunkRules&, CEncoded*, const char**)
    double try_blocks(const LaBlocksEncoder*, const LaBlock&, const int64_t*, int64_t, CEncoded*, const char**)


def try_encoder(
    capsule, const uint8_t[::1] values not None, int64_t bits, int64_t num_values, const uint8_t[::1] present,
    int64_t num_nulls, rules, const int64_t[::1] starts, const int64_t[::1] offsets=None, int64_t offset_bits=0,
) -> tuple:
    """Score and encode one block by a capsule, for tests of codecs.

    Parameters
    ----------
    capsule
        Of an encoder of chunks, or (with `starts`) of blocks.
    values, bits, num_values
        The block: values of fixed width, single bits from bit 0 on.
    present, num_nulls
        Bitmap of the values that are not null, or None.
    rules
        ``max_bytes``, ``max_values`` and ``target_bytes`` of chunks.
    starts
        ``(num_blocks + 1,) int64``, or None.
    offsets, offset_bits
        Of byte strings, whose `bits` are 0: ``(num_values + 1,) int64`` that ascend from 0, and the bits of the
        column's offsets.

    Returns
    -------
    tuple
        The score; what the encoder refused, or None; and, if it fits, description, bytes of buffers, ``(num_buffers,
        num_chunks)`` sizes and ``(num_chunks,)`` values of chunks.
    """
    cdef FactsOfBlock facts
    cdef CEncoded encoded
    cdef LaChunkRules limits
    cdef const char* refused = NULL
    cdef double score
    cdef const uint8_t* first = &values[0] if values.shape[0] else NULL
    if offsets is None:
        check_outcome(facts.set(first, bits, num_values))
    else:
        facts.set_strings(first, &offsets[0], offset_bits, num_values)
    if present is not None:
        facts.block.present = &present[0]
        facts.block.num_nulls = num_nulls
    if starts is None:
        limits.max_bytes, limits.max_values, limits.target_bytes = rules
        score = try_chunks(<const LaChunkEncoder*>PyCapsule_GetPointer(capsule, _CHUNK_ENCODER), facts.block, limits,
                           &encoded, &refused)
    else:
        score = try_blocks(<const LaBlocksEncoder*>PyCapsule_GetPointer(capsule, _BLOCKS_ENCODER), facts.block,
                           &starts[0], starts.shape[0] - 1, &encoded, &refused)
    if score < 0 or refused != NULL:
        return score, None if refused == NULL else refused.decode(), None
    if not encoded.is_whole(num_values):
        return score, "the sizes of chunks are not those of the buffers", None
    buffers = [bytes(one) for one in encoded.buffers]
    sizes = [list(one) for one in encoded.sizes]
    return score, None, (bytes(encoded.description), buffers, sizes, list(encoded.counts))
