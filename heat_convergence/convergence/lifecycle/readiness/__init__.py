"""The readiness of resources: the release of dependents before and after jobs are done."""
