"""The stabilization window between the readiness of all resources and a stack's completion."""
