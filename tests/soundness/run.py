"""Compare many random filters with Arrow's own: `python tests/soundness/run.py --count 100000`; one by `--case 123`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

from checking import Checked, check  # noqa: E402
from engine_checking import EnginesChecked, check_engines  # noqa: E402
from filter_cases import filter_case  # noqa: E402

LONG = 100_000
STRIDE = 200


def checked(first: int, stop: int, *, of_engines: bool) -> tuple[Checked | EnginesChecked, list[tuple[int, str]]]:
    """Check the cases of a range; what went wrong comes beside the counts."""
    seen: Any = EnginesChecked() if of_engines else Checked()
    check_case: Callable[[int, Path, Any], None] = check_engines if of_engines else check
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, stop):
            try:
                check_case(number, Path(folder), seen)
            except Exception as error:  # noqa: BLE001 - whatever it is, the case failed
                failures.append((number, f"{type(error).__name__}: {str(error)[:300]}"))
    return seen, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", type=int, help="only this one, with its traceback")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=LONG)
    parser.add_argument("--minutes", type=float, help="stop after the cases begun by then")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 4))
    parser.add_argument("--engines", action="store_true", help="cases of DuckDB and Polars, each of several predicates")
    options = parser.parse_args()
    if options.case is not None:
        if not options.engines:
            case = filter_case(options.case)
            print(case.table.schema, case.expression, case.rows_per_zone, case.file_version, sep="\n")
        with tempfile.TemporaryDirectory() as folder:
            seen = EnginesChecked() if options.engines else Checked()
            if isinstance(seen, EnginesChecked):
                check_engines(options.case, Path(folder), seen)
            else:
                check(options.case, Path(folder), seen)
        return 0
    started, failed = time.perf_counter(), 0
    total: Checked | EnginesChecked = EnginesChecked() if options.engines else Checked()
    check_range = partial(checked, of_engines=options.engines)
    stop = options.first + options.count
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        strides = range(options.first, stop, STRIDE * options.jobs)
        for begin in strides:
            parts = [range(one, min(one + STRIDE, stop)) for one in range(begin, stop, STRIDE)][: options.jobs]
            for seen, failures in pool.map(check_range, [p.start for p in parts], [p.stop for p in parts]):
                for name, count in asdict(seen).items():
                    setattr(total, name, getattr(total, name) + count)
                failed += len(failures)
                for number, text in failures:
                    print(
                        f"FAILED python tests/soundness/run.py{' --engines' * options.engines} --case {number}: {text}",
                        flush=True,
                    )
            seconds = time.perf_counter() - started
            print(f"{seconds:6.0f} s {total} failures={failed}", file=sys.stderr, flush=True)
            if options.minutes is not None and seconds > options.minutes * 60:
                break
    print(f"{total} failures={failed}")
    return 1 if failed or not total.compared else 0


if __name__ == "__main__":
    sys.exit(main())
