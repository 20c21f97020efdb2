"""Lance for Arrow."""
