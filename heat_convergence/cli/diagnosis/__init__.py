"""Checks of a whole installation, which ``heat-convergence-manage doctor`` prints."""
