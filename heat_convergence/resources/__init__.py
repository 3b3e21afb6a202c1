"""Resource types: protocol, schema, registry, implementations."""
