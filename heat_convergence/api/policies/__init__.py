"""The policy rules and their defaults, one file a prefix."""
