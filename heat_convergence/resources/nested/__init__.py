"""Resource types with a nested stack: templates, groups, stacks."""
