"""Golden transcripts: one match of every shipped game, told in full."""
