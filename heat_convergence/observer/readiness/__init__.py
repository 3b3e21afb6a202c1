"""The reads of resources whose jobs are done, and that their stacks still wait for."""
