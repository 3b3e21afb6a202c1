"""Views of timelines."""
