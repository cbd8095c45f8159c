"""What a node holds of its matches: states, tiers, the actors above them."""
