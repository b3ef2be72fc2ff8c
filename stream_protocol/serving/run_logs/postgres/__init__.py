"""The run log for many workers, in PostgreSQL. Needs the extra ``postgres``.

Where to change what:

- ``_statements``: atomic changes and tables.
- ``_connections``: connections and ``NOTIFY``.
- ``_turns``: the queue in which statements wait for a connection.
- ``_batches``: one statement for many runs.
"""

from stream_protocol.serving.run_logs.postgres._postgres_store import PostgresRunLog
