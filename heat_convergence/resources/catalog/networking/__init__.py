"""Resource types of the networking services: Neutron, Octavia and Designate."""
