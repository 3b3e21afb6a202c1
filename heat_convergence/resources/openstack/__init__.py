"""OpenStack types with behaviour of their own, and parts that several types have."""
