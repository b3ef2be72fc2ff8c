"""The run log for many workers, in Redis. Needs the extra ``redis``.

Where to change what:

- ``_scripts``: keys and atomic changes.
- ``_commands``: connections, time limits and errors.
- ``_redis_store``: leases, logs and messages.
"""

from stream_protocol.serving.run_logs.redis._redis_store import RedisRunLog
