"""Way in of the command `lance-arrow`; without the extra `cli` it says what to install."""

from __future__ import annotations

import importlib
import importlib.util
import sys

_EXTRA = ("typer", "rich")


def main() -> None:
    """Run the command of `sys.argv` and exit with its code."""
    missing = [name for name in _EXTRA if importlib.util.find_spec(name) is None]
    if missing:
        names = " and ".join(missing)
        print(f"lance-arrow needs {names} to run: python -m pip install 'lance-arrow[cli]'", file=sys.stderr)
        sys.exit(1)
    try:
        # Imported now, by name: without the extra it could not be.
        code = importlib.import_module("lance_arrow.cli.app").run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
