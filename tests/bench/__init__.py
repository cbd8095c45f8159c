"""Tests of the benchmark itself: what it writes, not how fast anything is."""
