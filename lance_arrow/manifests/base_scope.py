"""Which base paths are followed: those inside the folder that holds the table; others only if the caller allows it.

    /lake/t.lance        the table, or a branch of it        /lake         the folder that holds it
    /lake/other.lance    followed                            /etc, s3://other-bucket, ../x, x: not followed

A manifest may come from an untrusted writer. Without this check, it could open any file of the machine, or of the
bucket's owner. Paths are compared as written; local paths are also compared with links resolved: `/tmp/lake` and
`/private/tmp/lake` may be the same folder. Links inside the folder are followed, as links inside the table are: a
manifest cannot create links.
"""

from __future__ import annotations

import functools
import os
import posixpath

from lance_arrow.errors import UnsupportedError
from lance_arrow.io import redact
from lance_arrow.io.location import with_slashes
from lance_arrow.manifests.base_paths import BasePathMeta, split_url

WORD = "allow_external_bases"


def check_followed(
    root: str, branch: str | None, base: BasePathMeta, protocols: tuple[str, ...], *, allow_external: bool
) -> None:
    """Raise if a base path is outside of the folder that holds the table, unless the caller allows it.

    Parameters
    ----------
    root
        Path of the line of versions of the manifest.
    branch
        Its branch. A branch is considered to be in the folder of its table.
    base
        Base path of the file.
    protocols
        Protocols of URLs of the table's filesystem.
    allow_external
        Whether the caller allows base paths outside of the folder.

    Raises
    ------
    UnsupportedError
        The base path is outside; the message names it, and the option that allows it.
    """
    if not allow_external and not _is_below(base.path, _folder_of(root, branch), "file" in protocols):
        raise UnsupportedError(
            f"files of the table lie at the base path {redact(base.path)!r}, outside of the folder that holds the "
            f"table. If the table is trusted, open it with {WORD}=True",
            detail=redact(base.path),
        )


def _folder_of(root: str, branch: str | None) -> str:
    """Return the folder that holds a table; empty if the table is a whole bucket or host."""
    path = root.rstrip("/")
    inner = "" if branch is None else f"/tree/{branch}"
    if inner and path.endswith(inner):
        path = path.removesuffix(inner)
    scheme, inside = split_url(path)
    folder = posixpath.dirname(inside)
    return f"{scheme}://{folder}" if scheme and folder else folder


@functools.lru_cache(maxsize=1024)
def _is_below(path: str, folder: str, is_local: bool) -> bool:
    if not folder:
        return False
    own_scheme, own = split_url(folder)
    scheme, inside = split_url(path)
    if own_scheme and scheme and scheme.lower() != own_scheme.lower():
        return False
    if _begins_with(inside, own, is_local):
        return True
    if not is_local or not os.path.isabs(inside):
        return False
    return _begins_with(with_slashes(os.path.realpath(inside)), with_slashes(os.path.realpath(own)), True)


def _begins_with(path: str, folder: str, is_local: bool) -> bool:
    """Return whether a path is a folder or lies below it; only on local filesystems do `/a` and `a` differ."""
    if not is_local:
        path, folder = "/" + path.lstrip("/"), "/" + folder.lstrip("/")
    path, folder = posixpath.normpath(path), posixpath.normpath(folder)
    return path == folder or path.startswith(folder.rstrip("/") + "/")
