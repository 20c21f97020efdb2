"""`LanceReadOptions` and `LanceFragmentScanOptions`: how a format shows files, what one scan wants."""

from __future__ import annotations

from typing import TypeAlias

from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.arrow_dataset.bridge.loading import bridge
from lance_arrow.choices import Verify
from lance_arrow.scan.scan_options import ScanOptions

LanceReadOptions: TypeAlias = ReadOptions
"""Read options of a `LanceFormat`; formats with equal options are equal."""


class LanceFragmentScanOptions(bridge.BridgeScanOptions):
    """Options of one scan, for ``fragment_scan_options=``; they never change which rows a scan returns.

    Equal by value, hashable, picklable.

    Parameters
    ----------
    verify
        When checksums are compared: ``"touched"``, ``"full"`` or ``"off"``; the format's option when None.
    zone_maps
        Whether zone maps exclude rows.
    sidecars
        Whether zone maps beside a file are used if the file has none; one request per file.
    memory_budget_bytes
        Bytes that the scan of one file may hold; `Settings.memory_budget_bytes` when None. Batches become smaller to
        stay within it.

    Raises
    ------
    InvalidArgumentError
        An option has an unknown value; the message names both.

    Examples
    --------
    >>> options = lance_arrow.LanceFragmentScanOptions(zone_maps=False)
    >>> lance_arrow.dataset("flights").count_rows("id < 10", fragment_scan_options=options)
    10
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
        """When checksums are compared; None for the format's option."""
        return self.options.verify

    @property
    def zone_maps(self) -> bool:
        """Whether zone maps exclude rows."""
        return self.options.zone_maps

    @property
    def sidecars(self) -> bool:
        """Whether zone maps beside files are used."""
        return self.options.sidecars

    @property
    def memory_budget_bytes(self) -> int | None:
        """Bytes that the scan of one file may hold; None for the settings' budget."""
        return self.options.memory_budget_bytes

    def equals(self, other: LanceFragmentScanOptions) -> bool:
        """Whether the options are the same.

        Examples
        --------
        >>> options = lance_arrow.LanceFragmentScanOptions(zone_maps=False)
        >>> options.equals(lance_arrow.LanceFragmentScanOptions())
        False
        """
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
