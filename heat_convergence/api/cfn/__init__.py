"""The CloudFormation-compatible API, in front of the handlers of the Orchestration API."""
