from hypothesis import HealthCheck, settings

# No test asserts a time, neither of an example nor of making one.
settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")
