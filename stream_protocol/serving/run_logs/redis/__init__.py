"""The run log that stores its data in Redis, for several workers. Needs the extra ``redis``.

Where to change what:

- ``_scripts``: the Lua scripts, and the keys.
- ``_commands``: connections, time limits and errors.
- ``_redis_store``: leases, logs and messages.
"""

from stream_protocol.serving.run_logs.redis._redis_store import RedisRunLog
