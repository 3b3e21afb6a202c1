"""Bodies and query strings into typed values; every error names its place."""
