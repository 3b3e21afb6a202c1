"""Evaluation of templates, and resolution of what waits for other resources."""
