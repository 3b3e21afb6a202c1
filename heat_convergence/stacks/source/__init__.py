"""Sources of templates: requests, URLs, containers and stored goals."""
