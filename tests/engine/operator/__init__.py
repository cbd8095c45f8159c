"""What an operator does to a match, as the engine does it."""
