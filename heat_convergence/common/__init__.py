"""What every part may know: errors, identifiers, clock, request context."""
