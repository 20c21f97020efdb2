"""The command `lance-arrow`: what a file holds and which plugins read it, for eyes and, with ``--json``, for programs.

In flow words of a command line; out flows text or one JSON document, and an exit code. `__main__` is the way in,
`app` the commands, `*_view` build reports (data classes) about files and plugins, `row_values` turns Arrow values into
plain ones, `render` prints. Nothing below this room prints; nothing here decides what bytes mean.
"""
