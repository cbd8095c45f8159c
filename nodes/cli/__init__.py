"""The commands of `hotseat`: `main.py`, and one file for each command."""
