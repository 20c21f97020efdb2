"""`table delete`, `append`, `restore`, `tag`: commands that change a table, each with a dry run.

| Module | Content |
|---|---|
| `edit_commands` | the commands |
| `row_edits` | deleting rows and restoring a version, or what either would change |
| `tag_edits` | making, moving and removing tags |
| `edit_render` | what the commands print |
"""
