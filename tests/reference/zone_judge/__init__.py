"""Filters judged on zones by pyarrow and numpy: what native code must answer, and its oracle in tests."""
