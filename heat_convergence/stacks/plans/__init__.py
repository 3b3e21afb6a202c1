"""Stored plans: from the preview of an action to what clients read, and to its execution."""
