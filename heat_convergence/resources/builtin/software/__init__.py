"""Built-in types of software configuration."""
