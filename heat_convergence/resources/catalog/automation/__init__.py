"""Resource types of the services that automate work: Aodh, Mistral and Zaqar."""
