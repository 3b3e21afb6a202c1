"""Ids, times and outcomes of requests and calls, for logs, metrics and traces."""
