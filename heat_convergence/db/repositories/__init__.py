"""The repositories of ``convergence.ports`` on a database connection, a module per noun."""
