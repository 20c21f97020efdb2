"""`inspect --html`: pages about files and tables.

| Module | Content |
|---|---|
| `page_command` | the command |
| `file_page`, `table_page` | the sections of a file's and of a table's page |
| `zone_ranges`, `line_page` | zones as rectangles over rows; versions on a line |
| `page_parts` | style, sections, rows with bars |
| `page_render` | what the command prints |
"""
