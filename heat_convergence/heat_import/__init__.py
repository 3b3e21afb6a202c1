"""The import of live stacks from the database of a Heat deployment."""
