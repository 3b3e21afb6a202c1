"""Types of Octavia with behavior of their own."""
