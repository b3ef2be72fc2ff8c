"""A request and a stored session -> what to do next. Pure: no I/O, no clock, no random ids, no ADK import."""
