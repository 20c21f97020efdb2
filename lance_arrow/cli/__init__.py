"""The command `lance-arrow`: what files and tables hold, for eyes and, with ``--json``, for programs.

In flow words of a command line; out flows text or one JSON document, and an exit code.

| Module | Open it for |
|---|---|
| `__main__`, `app`, `table_commands` | the way in, the commands, exit codes |
| `convert_commands`, `salvage_command` | commands that write other files and tables |
| `editing/` | commands that change a table |
| `querying/` | queries by DuckDB |
| `authors/` | commands for authors of plugins |
| `advising/` | column options that suit the data |
| `words` | other names of commands, hints for arguments |
| `storage` | `--storage-option` |
| `targets` | what a path means: a file, a table, a folder of files; which report is made of it |
| `pages/` | pages of HTML about files and tables |
| `*_view`, `*_data`, `*_command` | reports (data classes) about files, tables, plugins |
| `row_values`, `plain_values` | Arrow values and reports as plain values |
| `render`, `*_render` | reports to text or JSON: dispatch, and the text of each kind of report |
| `layout`, `printing`, `row_text` | tables as aligned lines in the width of a terminal; where lines go |
| `progress` | a bar on stderr |
| `lazy` | modules that are imported when a command needs them |

Nothing below this room prints; nothing here decides what bytes mean.
"""
