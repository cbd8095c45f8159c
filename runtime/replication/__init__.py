"""The replication core: plain state machines, no clock, no I/O, no randomness."""
