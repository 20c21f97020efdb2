"""Commands for authors of plugins.

| Module | Content |
|---|---|
| `author_commands` | the commands `plugins` and `plugins new` |
| `new_project` | the project that `plugins new` writes; `templates/` has its files |
| `new_project_render` | what `plugins new` prints |
"""
