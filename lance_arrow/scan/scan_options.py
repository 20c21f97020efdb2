"""`ScanOptions`: what one scan wants otherwise than the format says."""

from __future__ import annotations

from dataclasses import dataclass

from lance_arrow.choices import Verify
from lance_arrow.container.file_checks import check_verify
from lance_arrow.errors import InvalidArgumentError


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOptions:
    """Options of one scan; they never change which rows it returns.

    Parameters
    ----------
    verify
        As `ReadOptions.verify`; that of the format when None.
    zone_maps
        Whether zone maps exclude rows.
    sidecars
        Whether zone maps beside a file are used if the file has none.
    memory_budget_bytes
        Bytes that the scan of one file may hold; those of the settings when None. Batches become smaller to stay within
        it.

    Raises
    ------
    InvalidArgumentError
        An option has an unknown value; the message names both.
    """

    verify: Verify | None = None
    zone_maps: bool = True
    sidecars: bool = True
    memory_budget_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.verify is not None:
            check_verify(self.verify)
        for name in ("zone_maps", "sidecars"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidArgumentError(f"{name} is {getattr(self, name)!r}, expected True or False")
        budget = self.memory_budget_bytes
        if budget is not None and (not isinstance(budget, int) or isinstance(budget, bool) or budget < 1):
            raise InvalidArgumentError(
                f"memory_budget_bytes is {budget!r}, expected an integer, at least 1", detail=budget
            )
