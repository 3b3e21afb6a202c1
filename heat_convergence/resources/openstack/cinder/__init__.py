"""Types of Cinder with behavior of their own."""
