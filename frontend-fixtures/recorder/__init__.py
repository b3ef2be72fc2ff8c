"""Makes the recordings in ``fixtures/``: scripted models, ADK's own Runner, fixed ids and times."""
