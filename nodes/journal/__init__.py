"""A node's journal: one SQLite file, written in groups, recovered at the start."""
