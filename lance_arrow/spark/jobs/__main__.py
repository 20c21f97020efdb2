"""Starts a job: ``python -m lance_arrow.spark.jobs`` or ``spark-submit``."""

import sys

from lance_arrow.spark.jobs.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
