"""The supervisor of a node's matches, and what it is made of."""
