"""The template language: template text to partly evaluated resource definitions."""
