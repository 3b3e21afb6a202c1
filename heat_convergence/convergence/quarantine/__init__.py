"""The quarantine: physical resources that could not be deleted with their stack."""
