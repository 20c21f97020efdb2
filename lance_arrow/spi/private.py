"""Descriptions of codecs outside the format's own list."""

from __future__ import annotations

from collections.abc import Iterable

from lance_arrow.errors import PluginContractError
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding, PrivateCodec
from lance_arrow.spi.keys import PRIVATE_CODEC, EncodingKey


def private_description(
    key: EncodingKey, distribution: str, config: bytes = b"", children: Iterable[CompressiveEncoding] = ()
) -> CompressiveEncoding:
    """Return the description for an encoder of a private codec.

    Parameters
    ----------
    key
        Key of the codec: ``EncodingKey(PRIVATE_CODEC, "vendor.name/1")``. The number is the version of its bytes.
    distribution
        Name of the distribution that reads it; readers without the codec print it.
    config
        Parameters that the codec needs for reading.
    children
        Descriptions of children that it encoded.

    Raises
    ------
    PluginContractError
        The key is not that of a private codec, or `distribution` is empty.

    Notes
    -----
    Source: `CompressiveEncoding.private_codec`, an extension of this project: other readers reject the whole file.
    """
    vendor, slash, version = (key.case or "").rpartition("/")
    if key.message != PRIVATE_CODEC or not slash or not vendor or not version.isdecimal():
        raise PluginContractError(f"{key} is not a key of a private codec, expected {PRIVATE_CODEC}/vendor.name/1")
    if not distribution:
        raise PluginContractError(f"the private codec {key.case!r} does not name the distribution that reads it")
    inner = PrivateCodec(id=key.case, distribution=distribution, config=config, children=children)
    return CompressiveEncoding(private_codec=inner)
