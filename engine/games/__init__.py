"""Games that ship: each the smallest model of one idea. The attribute is `game`."""
