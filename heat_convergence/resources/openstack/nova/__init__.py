"""Types of Nova with behavior of their own."""
