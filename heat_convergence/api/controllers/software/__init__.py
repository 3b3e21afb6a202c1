"""Software."""
