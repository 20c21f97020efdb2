"""`FieldPlaces`: where the columns of fields are in a data file, found by their ids."""

from __future__ import annotations


class FieldPlaces:
    """Positions of ids in the fields of a data file, made at the first use.

    Parameters
    ----------
    fields
        The ids. The first of equal ones counts.
    """

    __slots__ = ("_fields", "_places")

    def __init__(self, fields: tuple[int, ...]) -> None:
        self._fields = fields
        self._places: dict[int, int] | None = None

    def __reduce__(self) -> tuple[type[FieldPlaces], tuple[tuple[int, ...]]]:
        # Positions are found again where they are wanted: they would be most of a pickled fragment.
        return FieldPlaces, (self._fields,)

    def of(self, field_id: int) -> int | None:
        """Return the position of an id; None if the file has none."""
        places = self._places
        if places is None:
            last = len(self._fields) - 1
            places = self._places = {one: last - at for at, one in enumerate(reversed(self._fields))}
        return places.get(field_id)
