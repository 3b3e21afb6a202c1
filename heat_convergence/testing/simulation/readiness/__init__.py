"""The rules about readiness levels and the ages of reads, and what the simulation needs to check them."""
