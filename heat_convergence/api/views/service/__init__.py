"""The service itself as clients read it: its linter and its work."""
