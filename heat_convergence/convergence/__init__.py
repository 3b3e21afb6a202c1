"""The convergence algorithm: nouns, ports, planning, lifecycle and invariants."""
