"""Console scripts, and the assembly of a process from its components."""
