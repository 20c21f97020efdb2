"""Whether Spark can run here, and what makes it start sooner.

Checks PySpark and Java with their versions, and reports each absence in one line with its remedy.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from lance_arrow.errors import UnsupportedError

OLDEST_PYSPARK = (4, 1)
OLDEST_JAVA = 17
_JAVA_SECONDS = 60
_INSTALL_JAVA = f"install OpenJDK {OLDEST_JAVA} or newer, or set JAVA_HOME to its folder"
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
            f"PySpark {wanted} or newer is needed, {found} is installed: python -m pip install 'pyspark>={wanted}'",
            detail=found,
        )


def _java() -> str | None:
    """Return the path of the Java that PySpark would start; None when there is none."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")


def java_version() -> int | None:
    """Return the major version of the Java that PySpark would start; None when there is none.

    Raises
    ------
    UnsupportedError
        There is one, but it does not say its version.
    """
    java = _java()
    if java is None:
        return None
    try:
        said = subprocess.run(
            [java, "-version"], capture_output=True, text=True, check=False, timeout=_JAVA_SECONDS
        ).stderr
    except OSError as error:
        raise UnsupportedError(f"{java!r} cannot be started: {error}: {_INSTALL_JAVA}") from error
    except subprocess.TimeoutExpired as error:
        raise UnsupportedError(
            f"{java!r} did not say its version within {_JAVA_SECONDS} seconds: {_INSTALL_JAVA}"
        ) from error
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    if found is None:
        raise UnsupportedError(f"{java!r} does not say its version but {said.strip()[:200]!r}: {_INSTALL_JAVA}")
    return int(found[1])


def check_java() -> None:
    """Refuse a Java that is absent or too old.

    Raises
    ------
    UnsupportedError
        Which is needed, which is there, and what to do.
    """
    found = java_version()
    if found is not None and found >= OLDEST_JAVA:
        return
    needed = f"Spark needs Java {OLDEST_JAVA} or newer"
    if found is not None:
        raise UnsupportedError(f"{needed}, {_java()!r} is Java {found}: {_INSTALL_JAVA}", detail=found)
    home = os.environ.get("JAVA_HOME")
    if not home:
        raise UnsupportedError(f"{needed}, none is on the PATH: {_INSTALL_JAVA}")
    on_path = shutil.which("java")
    remedy = "set it to the folder of a Java" if on_path is None else f"correct it, or unset it to use {on_path!r}"
    raise UnsupportedError(f"{needed}, JAVA_HOME is {home!r} and has no executable bin/java: {remedy}")


def check_home() -> None:
    """Refuse a Spark home without jars, from which no JVM can start: ``SPARK_HOME``, or the installed PySpark.

    Raises
    ------
    UnsupportedError
        Where jars are missing, and what to do.
    """
    home = os.environ.get("SPARK_HOME")
    if home:
        if not Path(home, "jars").is_dir():
            raise UnsupportedError(f"SPARK_HOME is {home!r} and has no folder 'jars': correct it, or unset it")
        return
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None or not (Path(found.origin).parent / "jars").is_dir():
        raise UnsupportedError(
            "the installed PySpark has no jars, as pyspark-client has none: python -m pip install 'lance-arrow[spark]'"
        )


def why_not() -> str | None:
    """Say in one line why Spark cannot run here, and the remedy; None when it can."""
    return _first_reason(check_pyspark, check_java)


def why_not_local() -> str | None:
    """Say in one line why Spark cannot run in a JVM of this machine, and the remedy; None when it can.

    Spark Connect needs no jars where Python runs. So `why_not` does not ask for them, and this does.
    """
    return _first_reason(check_pyspark, check_home, check_java)


def _first_reason(*checks: Callable[[], None]) -> str | None:
    for check in checks:
        try:
            check()
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
