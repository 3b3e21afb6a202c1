"""Built-in types that take signals, or wait for them."""
