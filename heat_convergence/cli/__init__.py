"""Console scripts: the one place that wires the parts together."""
