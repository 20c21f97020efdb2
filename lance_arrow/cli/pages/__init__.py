"""`inspect --html`, `explain`: pages about files and tables, and about scans.

| Module | Content |
|---|---|
| `page_command` | the command `inspect` |
| `explain_command`, `explain_view`, `explain_render` | the command `explain`: plan and receipt of a scan |
| `explain_page` | the sections of a scan's page |
| `file_page`, `table_page` | the sections of a file's and of a table's page |
| `zone_ranges`, `line_page` | zones as rectangles over rows; versions on a line |
| `page_parts` | style, sections, rows with bars |
| `page_render` | what the command prints |
"""
