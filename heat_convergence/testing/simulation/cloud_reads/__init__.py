"""The answers of reads and lists of the simulated cloud, and how old they are."""
