"""The conformance kit for an installed distribution: ``pytest -p lance_arrow.testing.kit --lance-arrow-plugin NAME``.

Each codec of the distribution encodes samples by its own writer. The suites of `lance_arrow.testing` read them, damage
them and write files. A suite of the author with an `encode` by hand proves more. It also notices a writer and a reader
that are wrong alike.

| Module | Content |
|---|---|
| `option` | the option of pytest |
| `installed` | the codecs and layouts of a distribution, and which shapes they write |
| `written` | `CodecSuite` for what a codec writes itself, and files with its columns |
| `conformance` | the tests that pytest collects |
"""

from lance_arrow.testing.kit.option import pytest_addoption as pytest_addoption
from lance_arrow.testing.kit.option import pytest_configure as pytest_configure
