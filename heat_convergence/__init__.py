"""Heat Convergence: an orchestration service for OpenStack that converges stacks."""
