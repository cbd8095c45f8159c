"""Faults on a real local cluster while players play, and what became of their moves.

`run.py` runs a plan; what it saw is judged by the players' own accounts alone.
"""
