# Blobs of the data file by native code: few numbers in, bytes where Arrow wants them, no Python for each blob.
#
# For faulty places it returns an error text. `scan.blobs.blob_places` and the source then read the same blobs and raise
# the exact error.

cdef BlobPlaces _places(
    const uint64_t[::1] positions, const uint64_t[::1] sizes, const uint8_t[::1] kinds, const uint8_t[::1] validity
):
    cdef BlobPlaces places
    places.count = positions.shape[0]
    if sizes.shape[0] != places.count or (kinds is not None and kinds.shape[0] != places.count):
        raise refusal(b"positions, sizes and kinds have contradicting lengths", -1, 0)
    if validity is not None and validity.shape[0] < (places.count + 7) // 8:
        raise refusal(b"the bitmap is too short", -1, 0)
    places.positions, places.sizes = <const uint8_t*>&positions[0], <const uint8_t*>&sizes[0]
    places.stride = sizeof(uint64_t)
    places.kinds = NULL
    places.validity = NULL
    if kinds is not None:
        places.kinds = &kinds[0]
    if validity is not None:
        places.validity = &validity[0]
    return places


cdef int _check_offsets(const uint8_t[::1] offsets, int64_t count, int offset_bits) except -1:
    if offset_bits != 32 and offset_bits != 64:
        raise refusal(b"offsets have 32 or 64 bits", -1, 0)
    if offsets.shape[0] < (count + 1) * (offset_bits // 8):
        raise refusal(b"the offsets are too few for the blobs", -1, 0)
    return 0


def lay_out_blobs(
    const uint64_t[::1] positions not None, const uint64_t[::1] sizes not None, const uint8_t[::1] kinds,
    const uint8_t[::1] validity, int64_t data_stop, int64_t limit_bytes, uint8_t[::1] offsets not None, int offset_bits,
) -> int:
    """Lay blobs out end to end.

    Parameters
    ----------
    positions, sizes
        ``(n,) uint64``, as the file has them.
    kinds
        ``(n,) uint8``: where each lies; None where all lie in the file.
    validity
        Bitmap of the blobs that are not null; None when none is.
    data_stop
        Where the values of the file end.
    limit_bytes
        Most bytes together; what `offset_bits` can count at most.
    offsets, offset_bits
        ``(n + 1,)`` of that width, filled.

    Returns
    -------
    int
        Bytes of all blobs; -1 where they are too many, or a blob lies elsewhere or nowhere.
    """
    cdef BlobPlaces places = _places(positions, sizes, kinds, validity)
    cdef int64_t num_bytes = -1
    cdef Outcome outcome
    _check_offsets(offsets, places.count, offset_bits)
    with nogil:
        outcome = _lay_out_blobs(places, data_stop, limit_bytes, offset_bits, &offsets[0], &num_bytes)
    return -1 if outcome.message != NULL else num_bytes


def read_blobs(
    const uint64_t[::1] positions not None, const uint8_t[::1] offsets not None, int offset_bits, int64_t first,
    int64_t last, uint8_t[::1] values not None, int fd, const uint8_t[::1] memory, int64_t size, checks=None,
) -> tuple[str | None, int, int, int, int]:
    """Read some blobs that `lay_out_blobs` laid out.

    Parameters
    ----------
    positions, offsets, offset_bits
        Of all blobs.
    first, last
        Which to read, half-open.
    values
        Memory for all blobs.
    fd, memory, size, checks
        As for `RowsInTheMaking.run`.

    Returns
    -------
    refusal
        Why one could not be read, or None; after a refusal `values` may not be used.
    requests, ranges, bytes_wanted, bytes_read
        What was read.
    """
    cdef BlobPlaces places
    cdef Reader reader
    cdef Outcome outcome
    cdef ReadCount count
    cdef int64_t stop
    places.positions, places.stride, places.count = <const uint8_t*>&positions[0], sizeof(uint64_t), positions.shape[0]
    places.sizes = NULL
    places.kinds = NULL
    places.validity = NULL
    _check_offsets(offsets, places.count, offset_bits)
    if not 0 <= first <= last <= places.count:
        raise refusal(b"there are no such blobs", -1, 0)
    stop = (<const int32_t*>&offsets[0])[last] if offset_bits == 32 else (<const int64_t*>&offsets[0])[last]
    if stop > values.shape[0]:
        raise refusal(b"the blobs do not fit their memory", -1, 0)
    reader.fd, reader.size = fd, size
    reader.memory = NULL
    reader.checks = NULL
    if memory is not None:
        reader.memory = &memory[0]
    if checks is not None:
        # `checks` is held by the caller's argument as long as it is used.
        reader.checks = <Checks*>PyCapsule_GetPointer(checks.pointer, "lance_arrow.BlockChecks")
    with nogil:
        outcome = read_laid_out(places, offset_bits, &offsets[0], first, last, reader, &values[0], &count)
    return (
        None if outcome.message == NULL else outcome.message.decode("ascii"),
        count.requests, count.ranges, count.bytes_wanted, count.bytes_read,
    )
