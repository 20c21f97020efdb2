"""`sql`: queries of DuckDB over files and tables.

| Module | Content |
|---|---|
| `sql_command` | the command |
| `sql_view` | sources and their names, the rows of a result |
| `sql_render` | rows as a table, CSV or JSON |
"""
