"""Stored plans: what an action on a stack would do, to be executed exactly so or not at all."""
