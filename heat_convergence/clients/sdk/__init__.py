"""Uses of openstacksdk."""
