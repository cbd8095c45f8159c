"""Whole clusters in one process, in virtual time, from a seed."""
