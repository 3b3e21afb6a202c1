"""What stands around the application: identity, versions, faults."""
