"""A cluster on one machine: its processes, started and stopped."""
