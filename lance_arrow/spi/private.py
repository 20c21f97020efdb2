"""Descriptions of codecs outside the format's own list."""

from __future__ import annotations

from collections.abc import Iterable

from lance_arrow.errors import PluginContractError
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding, PrivateCodec
from lance_arrow.spi.keys import PRIVATE_CODEC, EncodingKey


def private_description(
    key: EncodingKey, distribution: str, config: bytes = b"", children: Iterable[CompressiveEncoding] = ()
) -> CompressiveEncoding:
    """Return the description that an encoder of a private codec hands back.

    Parameters
    ----------
    key
        The codec's: ``EncodingKey(PRIVATE_CODEC, "vendor.name/1")``, the number being the version of its bytes.
    distribution
        What to install to read it; shown to readers that lack it.
    config
        What the codec wants to know when it reads.
    children
        Descriptions of what it encoded further.

    Raises
    ------
    PluginContractError
        The key is not that of a private codec, or nobody could find the distribution.

    Notes
    -----
    Source: `CompressiveEncoding.private_codec`, which is ours: other readers refuse the whole file.
    """
    vendor, slash, version = (key.case or "").rpartition("/")
    if key.message != PRIVATE_CODEC or not slash or not vendor or not version.isdecimal():
        raise PluginContractError(f"{key} is not a key of a private codec, expected {PRIVATE_CODEC}/vendor.name/1")
    if not distribution:
        raise PluginContractError(f"the private codec {key.case!r} does not say what to install to read it")
    inner = PrivateCodec(id=key.case, distribution=distribution, config=config, children=children)
    return CompressiveEncoding(private_codec=inner)
