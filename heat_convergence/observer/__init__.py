"""The daemon that reads reality and starts the next leaves."""
