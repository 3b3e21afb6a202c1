"""Types of Glance with behavior of their own."""
