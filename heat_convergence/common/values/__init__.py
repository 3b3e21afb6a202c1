"""The size of values in memory, and maps of many values that take little of it."""
