"""The watch in the database."""
