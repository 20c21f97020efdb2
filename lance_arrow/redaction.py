"""Remove secrets from printed places; imports no other module of the package, because errors use it.

| Where | What is taken out |
|---|---|
| before the host | ``user:password@``, ``token@``; the container of ``abfs://container@account`` stays |
| behind the path | ``?sig=...``, ``#token=...``, ``;token=...`` |
| in a text | both, in every URL in it; values of ``&sig=``, ``;token=``, ``?password=`` and the like without a URL |
| in a text | quoted values of ``Authorization:``, ``Cookie:``, ``password=`` and the like |
"""

from __future__ import annotations

import re

# In these the part before @ is a container, not a user.
_CONTAINER_SCHEMES = ("abfs://", "abfss://", "wasb://", "wasbs://", "az://")
_QUERYLESS_SCHEMES = ("file://", "local://", "memory://")
_PORT = re.compile(r"[^/]*:\d+")
_PARAMETERS = re.compile(r"[?#]|;[^/;=]*=")
# No scheme is longer. Without a bound, a name of 64 KiB in an error took 12 seconds: its square.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,31}://[^\s'\"<>`]+")
_VALUE = re.compile(
    r"(?i)(?<=[?&;#])((?:x-(?:amz|goog)-(?:signature|credential|security-token)|sig|signature|(?:\w+_)?token|secret|password|pwd|"
    r"(?:account|access|secret|api)_?key|sas)=)[^&;\s'\"<>]+"
)
_NAMED = re.compile(
    r"(?i)(\b(?:(?:proxy-)?authorization|cookie|set-cookie|x-amz-security-token|password|(?:account|secret)_?key|sas_token)"
    r"['\"]?\s*[:=]\s*b?(['\"]))(?:(?!\2).)+"
)
_HIDDEN = r"\1..."


def redact(uri: str) -> str:
    """Remove what may be secret from a URL or chain of URLs; other text stays as it is."""
    return "::".join(_redact_one(part) for part in uri.split("::")) if "://" in uri else uri


def redact_text(text: str) -> str:
    """Remove what may be secret from the URLs in a text, and from what looks like a parameter of one."""
    if "=" not in text and ":" not in text:
        return text
    text = _URL.sub(lambda found: redact(found.group()), text)
    return _NAMED.sub(_HIDDEN, _VALUE.sub(_HIDDEN, text))


def _redact_one(uri: str) -> str:
    lowered = uri.lower()
    scheme, mark, rest = uri.partition("://")
    if not mark:
        return uri
    if lowered.startswith(_QUERYLESS_SCHEMES):
        return scheme + mark + _without_user(rest, has_container=False)
    rest = _without_user(rest, has_container=lowered.startswith(_CONTAINER_SCHEMES))
    return scheme + mark + _PARAMETERS.split(rest, maxsplit=1)[0]


def _without_user(rest: str, *, has_container: bool) -> str:
    """Cut what comes before the host, passwords with ``@``, ``/`` and ``?`` in them too."""
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    user, at, host = authority.rpartition("@")
    if at:
        if has_container and ":" not in user and "@" not in user:
            return rest
        return host + rest[len(authority) :]
    # No user ends before the first slash: host:port, or a password that has a slash in it.
    if ":" in authority and "@" in rest and not _PORT.fullmatch(authority):
        return rest.rpartition("@")[2]
    return rest
