"""Resource types with nested stacks whose template the service generates or fetches."""
