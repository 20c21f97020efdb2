"""Cannot be imported, as a plugin whose native part was built for another Python."""

from broken_fsst import _native_part_that_is_not_there  # noqa: F401
