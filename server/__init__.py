"""The app that is deployed and shown: the library around a demo agent."""
