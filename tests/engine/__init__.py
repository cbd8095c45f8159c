"""Tests of the engine, from the author's and the host's side."""
