"""The claim of jobs: what a worker reads, evaluates and writes before it calls anything."""
