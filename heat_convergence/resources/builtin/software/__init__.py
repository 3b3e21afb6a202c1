"""Software configurations and their deployments on servers."""
