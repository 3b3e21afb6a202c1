"""Sessions towards the cloud: as whom, where, and what its errors mean."""
