"""What is under deploy/: that it is well-formed, and that what it says works."""
