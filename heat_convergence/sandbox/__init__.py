"""A process of its own for users' programs, under hard limits of the operating system."""
