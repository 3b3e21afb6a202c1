"""Configuration options, one module per group."""
