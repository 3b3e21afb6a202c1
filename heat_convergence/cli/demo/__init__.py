"""The command ``heat-convergence demo``."""
