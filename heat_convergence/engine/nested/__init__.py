"""The jobs of resources that have nested stacks."""
