"""The demo as an app for deployment, with settings from environment variables."""
