"""Games of phases and moves."""
