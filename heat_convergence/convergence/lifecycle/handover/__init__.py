"""The hand-over of resources between stacks, and of existing objects to a stack."""
