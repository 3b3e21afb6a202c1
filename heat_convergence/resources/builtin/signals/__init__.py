"""Resource types that take signals, and the conditions that wait for them."""
