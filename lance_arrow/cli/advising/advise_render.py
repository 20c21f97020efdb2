"""Text of advice on column options."""

from __future__ import annotations

from lance_arrow.cli.advising.advice import AdviceReport
from lance_arrow.cli.advising.trials import Trial
from lance_arrow.cli.printing import Console, count, print_line, print_summary, size
from lance_arrow.cli.render import write_report


@write_report.register
def _(report: AdviceReport, console: Console) -> None:
    print_line(
        console,
        f"{report.path}: {count(report.num_rows, 'row')} of {count(len(report.columns), 'column')} tried with Lance "
        f"{report.file_version}, for {report.objective}",
    )
    print_line(console)
    rows = []
    for one in report.columns:
        rows.append([one.column, *_cells("default", one.default)])
        if one.best is not one.default:
            rows.append(["", *_cells(_words(one.best), one.best)])
    headings = ["column", "options", "size", "scan ms", "take ms", "write ms", "codecs"]
    print_summary(console, headings, rows, optional=(6, 5))
    if report.not_tried:
        print_line(console)
        print_line(console, f"not tried without --private: {', '.join(report.not_tried)}")
    print_line(console)
    for line in report.python.splitlines():
        print_line(console, line)


def _words(trial: Trial) -> str:
    return ", ".join(f"{name}={value}" for name, value in trial.options.items())


def _cells(name: str, trial: Trial) -> list[str]:
    times = (trial.scan_ms, trial.take_ms, trial.write_ms)
    return [name, size(trial.num_bytes), *(f"{one:.2f}" for one in times), "; ".join(trial.codecs)]
