"""The native `FileFormat`, `FileFragment` and writer, built against one pyarrow X.Y.

`loading` checks that version, imports `_bridge` and closes it at exit: everything else comes by way of it.
`_bridge.pyx` holds the classes that Python sees, `_bridge.pxd` what they use of the headers: `format`, `fragment`,
`scan` and `writer` (Arrow's classes), `callbacks` (calls into Python), `gate` and `per_process` (exit and fork), `pool`
(threads that may block), `file_pruners` (files left out before Python sees them), `scan_options`, `expressions`.
"""
