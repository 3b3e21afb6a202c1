"""The rules about readiness levels, and what the simulation needs to check them."""
