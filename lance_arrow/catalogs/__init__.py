"""Catalogs: tables by name in a folder, as the directory catalog of the Lance namespace specification keeps them.

| Module | Content |
|---|---|
| `opening` | `catalog`: a folder as a catalog |
| `lance_catalog` | `LanceCatalog`: list, open, create, drop, deregister and register tables |
| `registered` | the tables that a catalog's own table `__manifest` names |

This room may use tables. It must not know engines.
"""
