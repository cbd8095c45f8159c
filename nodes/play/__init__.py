"""`hotseat play`: a match in the terminal, between people and random bots."""
