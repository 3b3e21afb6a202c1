"""Built-in types with a stack behind them."""
