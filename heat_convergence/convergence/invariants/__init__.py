"""The rules that must always hold, as functions over rows and physical resources."""
