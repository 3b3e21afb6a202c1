"""The recorded times of jobs, and what they say about a traversal."""
