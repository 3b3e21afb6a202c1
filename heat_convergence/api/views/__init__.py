"""Records into the documents that clients read; pure functions."""
