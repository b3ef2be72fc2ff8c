"""The run log that stores its data in PostgreSQL, for several workers. Needs the extra ``postgres``.

Where to change what:

- ``_statements``: the SQL statements, and the tables.
- ``_connections``: connections, and messages between workers (``NOTIFY``).
- ``_turns``: the queue in which statements wait for a connection.
- ``_batches``: collects the data of many runs for one statement.
"""

from stream_protocol.serving.run_logs.postgres._postgres_store import PostgresRunLog
