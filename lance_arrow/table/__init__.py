"""Versions, deletions, row ids and transactions of tables: opens with the table issue; until then they are refused."""
