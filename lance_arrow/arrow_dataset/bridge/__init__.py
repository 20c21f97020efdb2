"""The native `FileFormat`, `FileFragment` and writer, built once for each pyarrow X.Y that is served.

`builds` chooses the build for the installed pyarrow. `loading` imports it as `_bridge` and closes it at exit; all other
modules use it. `for_stores` loads it for tables that are read without datasets. `find_pyarrows` lists the pyarrows to
build for. `_bridge.pyx` holds the classes that Python sees, `callbacks.pxi` what C++ calls. `_bridge.pxd` declares what
they use of the headers:

| Header | Content |
|---|---|
| `format`, `fragment`, `scan`, `writer` | Arrow's classes |
| `callbacks` | calls into Python |
| `gate`, `per_process` | exit and fork |
| `pool` | threads that may block |
| `file_pruners` | excludes files before Python sees them |
| `scan_options` | options of a scan |
"""
