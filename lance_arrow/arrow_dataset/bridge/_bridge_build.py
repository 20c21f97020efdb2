"""The pyarrow that the native bridge was built with (generated)."""

BUILD_VERSION = "26.0.1"
BUILD_SO = 2600
