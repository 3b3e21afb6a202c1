"""Resource types that are declared instead of written: the driver below the catalogue."""
