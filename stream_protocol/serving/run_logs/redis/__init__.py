"""The run log of many workers, in Redis. Needs the extra ``redis``."""

from stream_protocol.serving.run_logs.redis._redis_run_log import RedisRunLog
