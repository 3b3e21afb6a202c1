"""The watch in memory."""
