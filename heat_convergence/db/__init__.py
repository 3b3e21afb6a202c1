"""Tables and queries; the only package that knows SQLAlchemy."""
