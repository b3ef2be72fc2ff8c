"""The run log of many workers, in PostgreSQL. Needs the extra ``postgres``."""

from stream_protocol.serving.run_logs.postgres._postgres_run_log import PostgresRunLog
