"""Advice on valid templates: one module for each subject."""
