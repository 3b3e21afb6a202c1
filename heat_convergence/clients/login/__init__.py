"""Logins of users at Keystone."""
