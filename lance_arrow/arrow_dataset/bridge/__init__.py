"""The native `FileFormat`, `FileFragment` and writer, built once for each pyarrow X.Y that is served.

`loading` chooses the build for the pyarrow that is installed, imports it as `_bridge` and closes it at exit: everything
else comes by way of it. `find_pyarrows` tells the build which pyarrows there are.
`_bridge.pyx` holds the classes that Python sees, `_bridge.pxd` what they use of the headers: `format`, `fragment`,
`scan` and `writer` (Arrow's classes), `callbacks` (calls into Python), `gate` and `per_process` (exit and fork), `pool`
(threads that may block), `file_pruners` (files left out before Python sees them), `scan_options`, `expressions`.
"""
