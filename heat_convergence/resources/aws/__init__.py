"""Resource types with the names and properties of Amazon Web Services."""
