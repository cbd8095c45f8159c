"""The full-screen view of a cluster."""
