"""Whether Spark can run here, and what makes it start sooner.

Checks PySpark and Java with their versions, and reports each absence in one sentence.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

from lance_arrow.errors import UnsupportedError

OLDEST_PYSPARK = (4, 1)
OLDEST_JAVA = 17
_JAVA_SECONDS = 60
# What spark-submit reads of its home. Not `python`, which holds PySpark as an archive.
_HOME = ("bin", "conf", "jars", "sbin")


def check_pyspark() -> None:
    """Refuse a PySpark that is absent or too old.

    Raises
    ------
    UnsupportedError
        Which is needed, and which is there.
    """
    wanted = ".".join(map(str, OLDEST_PYSPARK))
    try:
        found = importlib.metadata.version("pyspark")
    except importlib.metadata.PackageNotFoundError:
        try:
            found = importlib.metadata.version("pyspark-client")
        except importlib.metadata.PackageNotFoundError:
            raise UnsupportedError(
                f"PySpark {wanted} or newer is needed, none is installed: python -m pip install 'lance-arrow[spark]'"
            ) from None
    numbers = re.findall(r"\d+", found)[:2]
    if tuple(int(number) for number in numbers) < OLDEST_PYSPARK:
        raise UnsupportedError(
            f"PySpark {wanted} or newer is needed, {found} is installed: older ones have no Arrow writers for Python "
            "data sources",
            detail=found,
        )


def java_version() -> int | None:
    """Return the major version of the Java that PySpark would start; None when there is none.

    Raises
    ------
    UnsupportedError
        There is one, but it does not say its version.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None or (home and not Path(java).exists()):
        return None
    try:
        said = subprocess.run(
            [java, "-version"], capture_output=True, text=True, check=False, timeout=_JAVA_SECONDS
        ).stderr
    except OSError as error:
        raise UnsupportedError(f"{java!r} cannot be started: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise UnsupportedError(f"{java!r} did not say its version within {_JAVA_SECONDS} seconds") from error
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    if found is None:
        raise UnsupportedError(f"{java!r} does not say its version but {said.strip()[:200]!r}")
    return int(found[1])


def check_java() -> None:
    """Refuse a Java that is absent or too old.

    Raises
    ------
    UnsupportedError
        Which is needed, and which is there.
    """
    found = java_version()
    if found is None:
        where = f"JAVA_HOME is {os.environ['JAVA_HOME']!r}" if os.environ.get("JAVA_HOME") else "none is on the PATH"
        raise UnsupportedError(f"Spark needs Java {OLDEST_JAVA} or newer: {where}")
    if found < OLDEST_JAVA:
        raise UnsupportedError(f"Spark needs Java {OLDEST_JAVA} or newer, this is Java {found}", detail=found)


def why_not() -> str | None:
    """Say in one sentence why Spark cannot run here; None when it can."""
    try:
        check_pyspark()
        check_java()
    except UnsupportedError as error:
        return error.message
    return None


def unpacked_home(folder: Path) -> Path:
    """Make a Spark home whose Python processes import the installed PySpark.

    Spark puts the archive ``python/lib/pyspark.zip`` of its home first on the path of every Python process. Python
    compiles the modules of an archive anew in each process, which takes 0.4 s of processor time. The home that is made
    here links to the folders of the present one and has no archive.

    Parameters
    ----------
    folder
        A new or empty folder. It must exist as long as Spark runs.

    Returns
    -------
    pathlib.Path
        The folder, as a value for ``SPARK_HOME``. Set it before the session begins. The interpreter that
        ``PYSPARK_PYTHON`` names must have PySpark installed.

    Raises
    ------
    UnsupportedError
        PySpark is not installed.
    OSError
        The folder cannot be made, or the system allows no symbolic links.
    """
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise UnsupportedError("a Spark home needs an installed PySpark, none was found")
    present = Path(os.environ.get("SPARK_HOME") or Path(found.origin).parent)
    folder.mkdir(parents=True, exist_ok=True)
    for name in _HOME:
        if (present / name).exists():
            (folder / name).symlink_to((present / name).absolute())
    return folder
