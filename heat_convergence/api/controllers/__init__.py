"""One class per noun; short handlers: read the request, ask, show."""
