"""The operator's side: the doors of the nodes, what they answer, and who asks."""
