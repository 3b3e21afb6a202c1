"""The functions of the template language, one module per family."""
