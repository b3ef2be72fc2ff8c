"""Our two errors."""


class StreamProtocolError(Exception):
    """A bug in the caller: the converter was used after its end, or given options that contradict each other."""
