"""Keep indices of any writer correct when rows of a table move."""
