"""The guard and the results of evaluations, which never run while the database is locked."""
