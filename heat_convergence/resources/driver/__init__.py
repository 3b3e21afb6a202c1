"""The declarative driver: resource types as data over the services' REST interfaces."""
