"""Delivery of the console to browsers, and what protects it there."""
