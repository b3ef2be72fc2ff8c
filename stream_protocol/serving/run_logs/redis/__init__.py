"""The run log of many workers, in Redis. Needs the extra ``redis``.

Where to change what:

- ``_scripts``: atomic changes.
- ``_redis_store``: keys.
"""

from stream_protocol.serving.run_logs.redis._redis_run_log import RedisRunLog
