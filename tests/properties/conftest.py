"""Settings of hypothesis for all tests of this folder."""

from hypothesis import HealthCheck, settings

# A slow machine must not fail a test.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")
