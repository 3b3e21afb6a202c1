"""Types of Keystone with behavior of their own."""
