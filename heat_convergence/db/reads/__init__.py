"""Read-only queries for the API, one file a noun."""
