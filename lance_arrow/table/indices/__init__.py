"""What becomes of indices, whichever writer made them, when rows of a table move."""
