"""Stored plans in memory."""
