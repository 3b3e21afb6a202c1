"""Documents of stacks, and the completion of the snapshots that keep them."""
