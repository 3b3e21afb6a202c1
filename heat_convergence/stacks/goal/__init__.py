"""Goal."""
