"""The command ``heat-convergence-manage``."""
