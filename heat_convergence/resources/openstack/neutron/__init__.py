"""Types of Neutron with behavior of their own."""
