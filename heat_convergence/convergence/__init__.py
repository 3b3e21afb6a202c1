"""The algorithm: states, plan, decisions, rules and the ports they need."""
