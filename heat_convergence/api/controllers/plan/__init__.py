"""Stored plans: their creation, views and execution."""
