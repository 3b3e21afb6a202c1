"""An emulation of OpenStack's services for tests and the simulator's demonstration."""
