"""URLs of Azure and of Google Cloud Storage through obstore, as `obstore_urls` does with those of S3.

The other clients look for credentials in many places, in an order of their own. So obstore is used where the options
say all of them, and no variable of the environment could add one. Other URLs are left to adlfs and gcsfs.

| adlfs | reference |
|---|---|
| `account_name`, `account_key` | `azure_storage_account_name`, `azure_storage_account_key` |
| `sas_token` | `azure_storage_sas_token` |
| `tenant_id`, `client_id`, `client_secret` | `azure_storage_tenant_id`, … |
| `anon` | `azure_skip_signature` |

| gcsfs | reference |
|---|---|
| `token="anon"` | `google_skip_signature` |
| `token`, the path of a service account's key | `google_service_account` |
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_ACCOUNT, _KEY, _SAS, _UNSIGNED = "account_name", "account_key", "sas_key", "skip_signature"
_CLIENT = ("tenant_id", "client_id", "client_secret")
_PATH, _JSON = "service_account", "service_account_key"


@dataclass(frozen=True, slots=True)
class Cloud:
    """A kind of store, and what is known of its options.

    Parameters
    ----------
    protocol
        Its name in obstore.
    package, filesystem
        The package of fsspec's filesystem, and the class.
    names
        Names of obstore, by those of the options in lower case, without prefixes.
    prefixes
        What the names of the reference may begin with.
    without_effect
        Options that concern caches, and buckets as a whole.
    variables
        What variables of the environment begin with that may add credentials or a server.
    has_all
        Whether the credentials in some options of obstore are all that a store would use.
    values
        Options whose value decides on the name in obstore: returns the name, None if there is none, and the value.
    """

    protocol: str
    package: str
    filesystem: str
    names: Mapping[str, str]
    prefixes: tuple[str, ...]
    without_effect: tuple[str, ...]
    variables: tuple[str, ...]
    has_all: Callable[[Mapping[str, Any]], bool]
    values: Mapping[str, Callable[[Any], tuple[str | None, Any]]] = field(default_factory=dict)

    def named(self, options: Mapping[str, Any]) -> Iterator[tuple[str, str | None, Any]]:
        """Yield name, name in obstore (None if it has none) and value of each option that has an effect."""
        for name, value in options.items():
            lowered = name.lower()
            if value is None or lowered in self.without_effect:
                continue
            if lowered in self.values:
                yield name, *self.values[lowered](value)
                continue
            prefix = next((one for one in self.prefixes if lowered.startswith(one)), "")
            yield name, self.names.get(lowered.removeprefix(prefix)), value

    def is_sure(self, config: Mapping[str, Any]) -> bool:
        """Return whether a store would use the credentials that fsspec's filesystem uses, and no others."""
        return not any(name.startswith(self.variables) for name in os.environ) and self.has_all(config)


def _is_unsigned(config: Mapping[str, Any]) -> bool:
    return str(config.get(_UNSIGNED, "")).lower() == "true"


def _has_all_of_azure(config: Mapping[str, Any]) -> bool:
    ways = [_is_unsigned(config), _KEY in config, _SAS in config, all(name in config for name in _CLIENT)]
    return _ACCOUNT in config and ways.count(True) == 1


def _has_all_of_google(config: Mapping[str, Any]) -> bool:
    return _is_unsigned(config) or _PATH in config or _JSON in config


def _of_token(token: Any) -> tuple[str | None, Any]:
    """Return the option of obstore for gcsfs' token: other credentials than a service account's have none."""
    if token == "anon":
        return _UNSIGNED, True
    if isinstance(token, dict) and token.get("type") == "service_account":
        return _JSON, json.dumps(token)
    if isinstance(token, str | os.PathLike) and os.path.isfile(token):
        try:
            with open(token, encoding="utf-8") as file:
                kind = json.load(file).get("type")
        except (ValueError, AttributeError):
            kind = None
        if kind == "service_account":
            return _PATH, os.fspath(token)
    return None, None


AZURE = Cloud(
    protocol="abfs",
    package="adlfs",
    filesystem="adlfs.AzureBlobFileSystem",
    names={
        "account_name": _ACCOUNT, "account_key": _KEY, "access_key": _KEY, "sas_token": _SAS, "sas_key": _SAS,
        "tenant_id": "tenant_id", "client_id": "client_id", "client_secret": "client_secret",
        "authority_id": "tenant_id", "anon": _UNSIGNED, "skip_signature": _UNSIGNED, "endpoint": "endpoint",
        "use_emulator": "use_emulator",
    },
    prefixes=("azure_storage_", "azure_"),
    without_effect=(
        "default_fill_cache", "default_cache_type", "use_listings_cache", "listings_expiry_time", "max_paths",
        "skip_instance_cache", "blocksize",
    ),
    variables=("AZURE_",),
    has_all=_has_all_of_azure,
)  # fmt: skip
GOOGLE = Cloud(
    protocol="gs",
    package="gcsfs",
    filesystem="gcsfs.GCSFileSystem",
    names={
        "service_account": _PATH, "service_account_path": _PATH, "service_account_key": _JSON,
        "skip_signature": _UNSIGNED,
    },
    prefixes=("google_",),
    without_effect=(
        "project", "default_location", "consistency", "use_listings_cache", "listings_expiry_time", "max_paths",
        "skip_instance_cache", "block_size", "cache_timeout",
    ),
    variables=("GOOGLE_", "STORAGE_EMULATOR_HOST", "FETCH_RAW_TOKEN_URL"),
    has_all=_has_all_of_google,
    values={"token": _of_token},
)  # fmt: skip
CLOUDS: Mapping[str, Cloud] = {"az": AZURE, "abfs": AZURE, "abfss": AZURE, "gs": GOOGLE, "gcs": GOOGLE}
"""By the protocol of a URL."""
