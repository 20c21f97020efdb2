"""`LanceReadOptions` and `LanceFragmentScanOptions`: how a format shows files, what one scan wants."""

from __future__ import annotations

from typing import TypeAlias

from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.arrow_dataset.bridge.loading import bridge
from lance_arrow.choices import Verify
from lance_arrow.scan.scan_options import ScanOptions

LanceReadOptions: TypeAlias = ReadOptions
"""How a `LanceFormat` shows columns; formats are equal when these are."""


class LanceFragmentScanOptions(bridge.BridgeScanOptions):
    """What one scan wants, as ``fragment_scan_options=`` of scanners; none of it changes which rows a scan gives.

    Equal to others with the same options, hashable, picklable.

    Parameters
    ----------
    verify
        What is compared with checksums: ``"touched"``, ``"full"`` or ``"off"``; as the format says when None.
    zone_maps
        Whether rows are left out by zone maps.
    sidecars
        Whether zone maps beside a file are looked for, where the file has none; one look per file.
    memory_budget_bytes
        What the scan of one file may hold; that of the settings when None. Batches are cut smaller to keep within it.

    Raises
    ------
    InvalidArgumentError
        There is no such choice; it is named.
    """

    options: ScanOptions

    def __init__(
        self,
        *,
        verify: Verify | None = None,
        zone_maps: bool = True,
        sidecars: bool = True,
        memory_budget_bytes: int | None = None,
    ) -> None:
        super().__init__(
            ScanOptions(verify=verify, zone_maps=zone_maps, sidecars=sidecars, memory_budget_bytes=memory_budget_bytes)
        )

    @property
    def verify(self) -> str | None:
        """What is compared with checksums; None for what the format says."""
        return self.options.verify

    @property
    def zone_maps(self) -> bool:
        """Whether rows are left out by zone maps."""
        return self.options.zone_maps

    @property
    def sidecars(self) -> bool:
        """Whether zone maps beside files are looked for."""
        return self.options.sidecars

    @property
    def memory_budget_bytes(self) -> int | None:
        """What the scan of one file may hold; None for what the settings say."""
        return self.options.memory_budget_bytes

    def equals(self, other: LanceFragmentScanOptions) -> bool:
        """Whether the options are the same."""
        if not isinstance(other, LanceFragmentScanOptions):
            raise TypeError(f"expected LanceFragmentScanOptions, got {type(other).__name__}")
        return self.options == other.options

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LanceFragmentScanOptions) and self.options == other.options

    def __hash__(self) -> int:
        return hash(self.options)

    def __repr__(self) -> str:
        return repr(self.options).replace("ScanOptions", "LanceFragmentScanOptions", 1)

    def __reduce__(self) -> tuple[object, ...]:
        return rebuild_options, (self.options,)


def rebuild_options(options: ScanOptions) -> LanceFragmentScanOptions:
    """Make the options that were pickled."""
    return LanceFragmentScanOptions(
        verify=options.verify,
        zone_maps=options.zone_maps,
        sidecars=options.sidecars,
        memory_budget_bytes=options.memory_budget_bytes,
    )
