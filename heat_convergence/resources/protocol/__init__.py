"""The protocol of resource types: schemas, verbs and the context that verbs receive."""
