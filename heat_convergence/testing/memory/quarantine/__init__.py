"""The quarantine in memory."""
