"""URLs of stores through obstore, where it is installed and finds the same objects as fsspec's filesystem would.

Options of Azure and of Google Cloud Storage are in `obstore_clouds`. This is about S3.

obstore takes a tenth of the processor time of s3fs for a request, and sends all requests of a read at once (decision
0090). It looks for credentials in fewer places, and does not find out the region of a bucket. So it is used where the
options, or the variables of the environment, say both. All other URLs are left to fsspec.

Options have the names of s3fs, or those of the reference, which are the names of Rust's object_store:

| s3fs | reference |
|---|---|
| `key`, `secret`, `token` | `aws_access_key_id`, `aws_secret_access_key`, `aws_session_token` |
| `anon` | `aws_skip_signature` |
| `endpoint_url`, or in `client_kwargs` | `aws_endpoint`, `allow_http` |
| `region_name` in `client_kwargs` | `aws_region` |
| `requester_pays` | `aws_request_payer` |
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io.obstore_clouds import CLOUDS, Cloud

if TYPE_CHECKING:
    from obstore.fsspec import FsspecStore

_PROTOCOLS = ("s3", "s3a")
_KEY, _SECRET, _TOKEN = "access_key_id", "secret_access_key", "session_token"
_ENDPOINT, _REGION, _UNSIGNED = "endpoint", "region", "skip_signature"

_OF_S3FS = {
    "key": _KEY, "username": _KEY, "secret": _SECRET, "password": _SECRET, "token": _TOKEN, "anon": _UNSIGNED,
    "endpoint_url": _ENDPOINT, "requester_pays": "request_payer",
}  # fmt: skip
_OF_CLIENT = {
    "endpoint_url": _ENDPOINT, "region_name": _REGION, "aws_access_key_id": _KEY, "aws_secret_access_key": _SECRET,
    "aws_session_token": _TOKEN,
}  # fmt: skip
# Names of object_store are these, with `aws_` before them or not.
_OF_STORE = {
    **dict.fromkeys((_ENDPOINT, "endpoint_url"), _ENDPOINT),
    **dict.fromkeys((_REGION, "default_region"), _REGION),
    **dict.fromkeys((_TOKEN, "token"), _TOKEN),
    **{
        name: name
        for name in (
            _KEY, _SECRET, _UNSIGNED, "virtual_hosted_style_request", "unsigned_payload", "request_payer",
            "server_side_encryption", "sse_kms_key_id", "sse_bucket_key_enabled", "sse_customer_key_base64",
            "checksum_algorithm", "conditional_put", "copy_if_not_exists", "disable_tagging", "s3_express",
        )
    },
}  # fmt: skip
_OF_HTTP = ("allow_http", "allow_invalid_certificates", "connect_timeout", "timeout", "proxy_url", "user_agent")
# They concern caches and buffers of s3fs, which our reads do not use.
_WITHOUT_EFFECT = (
    "default_block_size", "default_fill_cache", "default_cache_type", "use_listings_cache", "listings_expiry_time",
    "max_paths", "skip_instance_cache", "cache_regions",
)  # fmt: skip


def open_url(url: str, storage_options: Mapping[str, Any]) -> tuple[FsspecStore, str] | None:
    """Return obstore's filesystem for a URL, and the path in it.

    Parameters
    ----------
    url
        Any URL.
    storage_options
        Options by the names of s3fs or of the reference.

    Returns
    -------
    tuple or None
        None where fsspec is to open the URL: another protocol, obstore is not installed, or it might find other
        objects than s3fs.

    Raises
    ------
    InvalidArgumentError
        Two names of one option have different values. Or obstore alone is installed, and does not know an option.
    """
    protocol, mark, path = url.partition("://")
    cloud = CLOUDS.get(protocol)
    if not mark or (cloud is None and protocol not in _PROTOCOLS) or "::" in url or find_spec("obstore") is None:
        return None
    if cloud is not None:
        return _open_cloud(cloud, protocol, path, storage_options)
    has_s3fs = find_spec("s3fs") is not None
    options = {**_defaults(protocol), **storage_options}
    if has_s3fs and not (_is_usual(protocol) and _is_usable()):
        return None
    config, client, unknown = translated(options)
    if unknown and not has_s3fs:
        raise InvalidArgumentError(
            f"unknown storage options for obstore: {', '.join(sorted(unknown))}; install s3fs to use those of s3fs"
        )
    if has_s3fs and (unknown or not _is_sure(config)):
        return None
    from obstore.fsspec import FsspecStore  # noqa: PLC0415 - where it is installed

    make: Any = FsspecStore
    return make("s3", config=config, client_options=client), path


def _open_cloud(
    cloud: Cloud, protocol: str, path: str, storage_options: Mapping[str, Any]
) -> tuple[FsspecStore, str] | None:
    """Return obstore's filesystem for a URL of Azure or GCS; None where fsspec is to open it, as for `open_url`."""
    has_package = find_spec(cloud.package) is not None
    if "@" in path.partition("/")[0] or (has_package and not (_is_usual(protocol, cloud.filesystem) and _is_usable())):
        # The account may be a part of the URL.
        return None
    config, client, unknown = _collected(cloud.named({**_defaults(protocol), **storage_options}))
    if unknown and not has_package:
        raise InvalidArgumentError(
            f"unknown storage options for obstore: {', '.join(sorted(unknown))}; install {cloud.package} to use others"
        )
    if has_package and (unknown or not cloud.is_sure(config)):
        return None
    from obstore.fsspec import FsspecStore  # noqa: PLC0415 - where it is installed

    make: Any = FsspecStore
    return make(cloud.protocol, config=config, client_options=client), path


def translated(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Translate options to those of obstore.

    Returns
    -------
    dict
        Configuration of the store.
    dict
        Options of its HTTP client.
    list of str
        Names of options that have no translation.

    Raises
    ------
    InvalidArgumentError
        Two names of one option have different values.
    """
    return _collected(_named(options))


def _collected(
    named: Iterable[tuple[str, str | None, Any]],
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Divide options as `translated` does: name, name in obstore, value."""
    config: dict[str, Any] = {}
    client: dict[str, Any] = {}
    unknown: list[str] = []
    names: dict[str, str] = {}
    for name, known, value in named:
        own = name.lower() if known is None and name.lower() in _OF_HTTP else known
        if own is None:
            unknown.append(name)
        elif names.setdefault(own, name) != name and (client if own in _OF_HTTP else config)[own] != value:
            raise InvalidArgumentError(f"the storage options {names[own]} and {name} differ: give one")
        else:
            (client if own in _OF_HTTP else config)[own] = value
    if str(config.get(_ENDPOINT, "")).startswith("http://"):
        client.setdefault("allow_http", True)
    return config, client, unknown


def _named(options: Mapping[str, Any]) -> Iterator[tuple[str, str | None, Any]]:
    """Yield name, name in obstore (None if it has none) and value of each option that has an effect."""
    for name, value in options.items():
        lowered = name.lower()
        if value is None or name in _WITHOUT_EFFECT or (name, value) in (("use_ssl", True), ("version_aware", False)):
            continue
        if name == "client_kwargs" and isinstance(value, Mapping):
            for inner, one in value.items():
                if one is not None:
                    yield f"client_kwargs.{inner}", _OF_CLIENT.get(inner), one
        elif lowered in _OF_HTTP:
            yield name, lowered, value
        else:
            yield name, _OF_S3FS.get(name) or _OF_STORE.get(lowered.removeprefix("aws_")), value


def _defaults(protocol: str) -> Mapping[str, Any]:
    """Return the options that fsspec's configuration has for a protocol."""
    from fsspec.config import conf  # noqa: PLC0415 - for URLs alone

    found: Mapping[str, Any] = conf.get(protocol, {})
    return found


def _is_usual(protocol: str, usual: str = "s3fs.S3FileSystem") -> bool:
    """Return whether fsspec would open URLs by its own filesystem, and not by what the caller registered."""
    from fsspec.registry import known_implementations, registry  # noqa: PLC0415 - for URLs alone

    kind = registry.get(protocol)
    name = known_implementations[protocol]["class"] if kind is None else f"{kind.__module__}.{kind.__qualname__}"
    # A class may be named by its package or by its module.
    return (name.partition(".")[0], name.rpartition(".")[2]) == (usual.partition(".")[0], usual.rpartition(".")[2])


def _is_usable() -> bool:
    """Return whether obstore can be used in this process: s3fs can be after a fork."""
    stores = sys.modules.get("lance_arrow.io.obstore_stores")
    return stores is None or bool(stores.is_usable())


def _is_sure(config: Mapping[str, Any]) -> bool:
    """Return whether a store would use the credentials that s3fs uses, and knows the place of the bucket."""
    environ = os.environ
    if _ENDPOINT not in config and _REGION not in config:
        # A region of the environment need not be that of the bucket; s3fs asks.
        return False
    if any(name.startswith("AWS_ENDPOINT") for name in environ):
        # Both read these variables, in different order.
        return False
    if str(config.get(_UNSIGNED, "")).lower() == "true":
        return True
    if _KEY in config and _SECRET in config:
        # obstore would sign with this token, s3fs does not.
        return _TOKEN in config or not ("AWS_SESSION_TOKEN" in environ or "AWS_TOKEN" in environ)
    has_keys = "AWS_ACCESS_KEY_ID" in environ and "AWS_SECRET_ACCESS_KEY" in environ
    return has_keys and "AWS_PROFILE" not in environ and not {_KEY, _SECRET, _TOKEN} & set(config)
