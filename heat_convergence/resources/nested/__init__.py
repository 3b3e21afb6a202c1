"""Resource types that a stack is behind: templates, groups, nested stacks."""
