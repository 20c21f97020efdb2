"""Sessions of `noxfile.py` by subject; what every change must pass is in that file itself."""
