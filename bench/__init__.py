"""Measurements, each beside its floor: `python -m bench`, or `make bench`."""
