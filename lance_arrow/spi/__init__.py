"""Empty room."""
