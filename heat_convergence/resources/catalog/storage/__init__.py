"""Resource types of the storage services: Cinder, Manila and Swift."""
