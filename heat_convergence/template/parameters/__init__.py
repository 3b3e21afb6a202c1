"""Parameter declarations, their constraints and the values they take."""
