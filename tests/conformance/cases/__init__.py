"""Cases of the conformance suite, by group of services."""
