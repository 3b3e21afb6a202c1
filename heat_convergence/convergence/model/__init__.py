"""The nouns of the algorithm: frozen records and their state machine."""
