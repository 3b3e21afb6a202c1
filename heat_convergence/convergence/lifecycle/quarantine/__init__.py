"""The quarantine of resources that a deletion gives up, inside its transactions."""
