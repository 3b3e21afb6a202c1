"""Types of Swift with behavior of their own."""
