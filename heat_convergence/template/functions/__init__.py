"""The template language's functions, one file a family."""
