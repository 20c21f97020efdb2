"""Wide tables: what a column costs to write and to read, beside the reference package and Parquet.

    python tests/benchmarks/wide.py [--rounds 5] [--only writing|reading|tables]

Rounds of all packages are interleaved. Medians are printed, in milliseconds by the clock and of processor time; nothing
is asserted. `wide_writing` and `wide_reading` have the rows. `--only tables` is the long form: all steps of
`wide_tables`, of 10,000 columns, of 100 and of 100,000 rows.
"""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

PARTS = ("writing", "reading")
LONG = "tables"


def main() -> None:
    """Run the parts that exist."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=(*PARTS, LONG))
    given = parser.parse_args()
    for part in PARTS if given.only is None else (given.only,):
        path = Path(__file__).with_name(f"wide_{part}.py")
        if path.exists():
            spec = importlib.util.spec_from_file_location(path.stem, path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            if part == LONG:
                module.main(with_spark=True)
            else:
                module.main(given.rounds)


if __name__ == "__main__":
    main()
