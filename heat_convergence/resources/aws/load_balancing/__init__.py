"""Load balancers of CloudFormation."""
