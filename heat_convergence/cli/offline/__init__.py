"""The whole service in this process, without a network: for ``heat-convergence try`` and tests."""
