"""The demo as a deployed app, with settings from the environment."""
