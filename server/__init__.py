"""The demo as an app that is deployed: the library around the agent of `stream_protocol.demo`."""
