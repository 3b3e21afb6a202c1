"""Users of stacks with keys, and what they may read."""
