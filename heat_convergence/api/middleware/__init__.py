"""The middlewares around the application: identity, versions, faults, access log."""
