"""The session of a new user's first hour: what the README's first command installs and prints."""

from __future__ import annotations

import re

import nox
from first_command import readme_command

from sessions.common import ROOT, install


@nox.session
def first_command(session: nox.Session) -> None:
    """Run the README's first command in a clean environment, and its demo again without Java; assert who ingested.

    The wheel of this source state is installed, with the extras that the command names, instead of being built again.
    """
    what, _ = readme_command()
    [extras] = re.fullmatch(r"\.\[([\w,]+)\]", what).groups()
    install(session, extras)
    session.run("python", str(ROOT / ".ci" / "first_command.py"))
