"""Tables, repositories, reads and maintenance; the only package that knows SQLAlchemy."""
