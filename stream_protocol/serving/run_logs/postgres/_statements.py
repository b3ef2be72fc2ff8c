"""The SQL statements of the run log in PostgreSQL. Each statement is one transaction, and may be repeated.

In these statements, all table names begin with ``adk_ui_stream``. The function ``named`` puts the prefix of the
deployment in place of this beginning. The tables:

- ``leases``: a row for each chat that has a run or recently had a run. ``run`` is empty if the chat has no active run.
  ``token`` is the greatest fencing token of the chat, and outlives the lease. A chat that was recently stopped has a
  second row, whose ``chat`` is ``<chat> stopped``. The column ``request`` of this row has the id of the chat's newest
  stop. This row is never a lease.
- ``logs``: a row for each run. The column ``events`` has the oldest events of the run, merged into longer events.
  ``past`` has the content that the message had before this run.
- ``entries``: the events of a run, several per row. ``after`` is the number of events before the row.
- ``readers``: the other workers that read a run.
- ``posts``: messages that requests at other workers send to a run, and the replies of the run.

All tables except ``leases`` are UNLOGGED. Writes to these tables therefore skip the write-ahead log, and do not wait
for a disk. Replicas and archives do not get these tables. After a crash of the PostgreSQL server, these tables are
empty. Each worker then writes the data of its runs again, from its memory.
"""

from typing import Final

PREFIX: Final = "adk_ui_stream"
"""The prefix of all names in the statements of this module."""

TABLES: Final = """
SELECT count(to_regclass(name)) = 5
FROM unnest(ARRAY['adk_ui_stream_leases', 'adk_ui_stream_logs', 'adk_ui_stream_entries', 'adk_ui_stream_readers',
    'adk_ui_stream_posts']) AS _ (name)
"""
"""Returns true if all tables exist."""

SCHEMA: Final = """
SELECT pg_advisory_xact_lock(hashtext('adk_ui_stream'));
CREATE TABLE IF NOT EXISTS adk_ui_stream_leases (
    chat text PRIMARY KEY,
    run text NOT NULL,
    worker text NOT NULL,
    request text NOT NULL,
    phase text NOT NULL,
    token bigint NOT NULL,
    stop boolean NOT NULL,
    renewals integer NOT NULL,  -- 0: older workers count with it
    held_until timestamptz NOT NULL,
    kept_until timestamptz NOT NULL
) WITH (fillfactor = 50);
CREATE UNLOGGED TABLE IF NOT EXISTS adk_ui_stream_logs (
    run text PRIMARY KEY,
    past bytea NOT NULL,
    joined integer NOT NULL,
    events bytea NOT NULL,
    kept_until timestamptz NOT NULL
) WITH (fillfactor = 50);
CREATE UNLOGGED TABLE IF NOT EXISTS adk_ui_stream_entries (
    run text,
    after integer,
    count integer NOT NULL,
    events bytea NOT NULL,
    ending text NOT NULL,
    PRIMARY KEY (run, after)
);
CREATE UNLOGGED TABLE IF NOT EXISTS adk_ui_stream_readers (
    run text,
    worker text,
    until timestamptz NOT NULL,
    PRIMARY KEY (run, worker)
) WITH (fillfactor = 50);
CREATE UNLOGGED TABLE IF NOT EXISTS adk_ui_stream_posts (
    run text,
    id text,
    content bytea NOT NULL,
    reply bytea,
    kept_until timestamptz NOT NULL,
    PRIMARY KEY (run, id)
);
ALTER TABLE adk_ui_stream_logs ALTER past SET STORAGE EXTERNAL, ALTER events SET STORAGE EXTERNAL;
ALTER TABLE adk_ui_stream_entries ALTER events SET STORAGE EXTERNAL;
"""
"""Creates the tables. Workers that start at the same time wait for each other. The fill factor leaves room in each page
for new versions of rows, so that the index need not change. Large texts are kept for about a minute, so compression
would cost more than it saves."""

PING: Final = """
INSERT INTO adk_ui_stream_leases AS lease VALUES ('', '', '', '', '', 0, false, 0, now(), now())
ON CONFLICT (chat) DO UPDATE SET kept_until = now()
"""
"""Writes a row that belongs to no chat, to check that the database accepts writes."""

CLAIM: Final = """
-- chat, run, worker, request, lease ms, token ms
INSERT INTO adk_ui_stream_leases AS lease VALUES (
    $1, $2, $3, $4, 'claimed', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, false, 0,
    clock_timestamp() + $5 * interval '1 ms', clock_timestamp() + $6 * interval '1 ms')
ON CONFLICT (chat) DO UPDATE SET
    run = excluded.run, worker = excluded.worker, request = excluded.request, phase = excluded.phase,
    token = CASE WHEN lease.run = excluded.run THEN lease.token ELSE greatest(lease.token + 1, excluded.token) END,
    stop = false, held_until = excluded.held_until, kept_until = excluded.kept_until
WHERE lease.run IN ('', excluded.run) OR lease.held_until <= clock_timestamp()
RETURNING token
"""
"""Gives the chat to a run. Returns the run's token; no row if another run holds the chat's lease."""

PEEK: Final = """
-- chats
SELECT chat, run, request, phase, stop,
    (extract(epoch FROM held_until - clock_timestamp()) * 1000)::float8 AS left_ms
FROM adk_ui_stream_leases WHERE chat = ANY($1::text[]) AND run <> '' AND held_until > clock_timestamp()
"""
"""Returns for each given chat the run that holds the chat's lease."""

RENEW: Final = """
-- chat, run, worker, request, phase, token, lease ms, token ms, log ms, stop seconds
WITH held AS (
    SELECT 1 FROM adk_ui_stream_leases WHERE chat = $1 AND run = $2 AND held_until > clock_timestamp()
), renewed AS (
    INSERT INTO adk_ui_stream_leases AS lease VALUES (
        $1, $2, $3, $4, $5, $6, false, 0,
        clock_timestamp() + $7 * interval '1 ms', clock_timestamp() + $8 * interval '1 ms')
    ON CONFLICT (chat) DO UPDATE SET
        run = excluded.run, worker = excluded.worker, request = excluded.request,
        phase = CASE WHEN (lease.run, lease.phase) = (excluded.run, 'closed') THEN 'closed' ELSE excluded.phase END,
        token = excluded.token, stop = lease.stop AND lease.run = excluded.run,
        held_until = excluded.held_until, kept_until = excluded.kept_until
    WHERE lease.token <= excluded.token
    RETURNING stop
), kept AS (
    UPDATE adk_ui_stream_logs SET kept_until = clock_timestamp() + $9 * interval '1 ms'
    WHERE run = $2 AND EXISTS (SELECT FROM renewed)
), dropped AS (
    DELETE FROM adk_ui_stream_posts WHERE run = $2 AND reply IS NULL AND NOT EXISTS (SELECT FROM held)
)
SELECT stop OR EXISTS (
    SELECT FROM adk_ui_stream_leases WHERE chat = $1::text || ' stopped' AND kept_until > clock_timestamp()
        AND extract(epoch FROM kept_until - $10 * interval '1 s') * 1000000 > $6
) AS stop, (SELECT count(*) FROM adk_ui_stream_readers WHERE run = $2 AND until > clock_timestamp()) AS readers, (
    SELECT coalesce(array_agg(ROW(id, content)), '{}') FROM adk_ui_stream_posts
    WHERE run = $2 AND reply IS NULL AND EXISTS (SELECT FROM held)
) AS posts
FROM renewed
"""
"""Renews a lease: see ``RunStore.renew``. Returns ``stop`` (true if the run must stop), the number of other workers
that read the run, and the messages without a reply. If the store had lost the lease, earlier messages are deleted,
because their senders got the reply that the run has ended."""

APPEND: Final = """
-- arrays: chat, run, token, after, count, events, ending, past; channel, log ms
WITH given AS (
    SELECT * FROM unnest(
        $1::text[], $2::text[], $3::bigint[], $4::integer[], $5::integer[], $6::bytea[], $7::text[], $8::bytea[]
    ) AS _ (chat, run, token, after, count, events, ending, past)
), held AS (
    SELECT given.*, log.run IS NULL AS is_new, coalesce(greatest(log.joined, last.count), 0) AS stored,
        coalesce(last.ending, '') AS ended
    FROM given JOIN adk_ui_stream_leases AS lease USING (chat, run, token)
    LEFT JOIN adk_ui_stream_logs AS log ON log.run = given.run
    LEFT JOIN LATERAL (
        SELECT entry.count, entry.ending FROM adk_ui_stream_entries AS entry
        WHERE entry.run = given.run ORDER BY entry.after DESC LIMIT 1
    ) AS last ON true
), begun AS (
    INSERT INTO adk_ui_stream_logs
    SELECT run, past, 0, '', clock_timestamp() + $10 * interval '1 ms' FROM held WHERE is_new AND stored = after
    ON CONFLICT DO NOTHING
), added AS (
    INSERT INTO adk_ui_stream_entries
    SELECT run, after, count, events, ending FROM held WHERE stored = after AND ended = ''
    ON CONFLICT DO NOTHING
    RETURNING run
), closed AS (
    UPDATE adk_ui_stream_leases AS lease SET phase = 'closed' FROM held
    WHERE (lease.chat, lease.run, lease.token, lease.phase) = (held.chat, held.run, held.token, 'open')
        AND held.ending <> '' AND held.stored = held.after AND held.ended = ''
), told AS (
    SELECT pg_notify($9 || reader.worker, 'more ' || reader.run)
    FROM added JOIN adk_ui_stream_readers AS reader USING (run) WHERE reader.until > clock_timestamp()
)
SELECT run, CASE WHEN stored = after AND ended = '' THEN count ELSE stored END AS stored,
    (SELECT count(*) FROM told) AS told
FROM held
"""
"""Appends entries to the logs of several runs, and notifies their readers: see ``RunStore.append``. Returns no row for
a run that does not hold the lease."""

REPLACE: Final = """
-- chat, run, token, joined, events, past, log ms
WITH lease AS (
    SELECT FROM adk_ui_stream_leases WHERE chat = $1 AND run = $2 AND token = $3
), begun AS (
    INSERT INTO adk_ui_stream_logs AS log
    SELECT $2, $6::bytea, $4::integer, $5::bytea, clock_timestamp() + $7 * interval '1 ms' FROM lease
    ON CONFLICT (run) DO UPDATE SET joined = excluded.joined, events = excluded.events, past = excluded.past
), gone AS (
    DELETE FROM adk_ui_stream_entries
    WHERE run = $2 AND count <= $4::integer AND ending = '' AND EXISTS (SELECT FROM lease)
)
SELECT greatest($4::integer, (
    SELECT count FROM adk_ui_stream_entries WHERE run = $2 ORDER BY after DESC LIMIT 1
)) AS stored FROM lease
"""
"""Replaces the oldest entries of a run with longer events: see ``RunStore.replace``. Returns no row for a run that does
not hold the lease."""

FREE: Final = """
-- chat, run, channel, log ms
WITH freed AS (
    UPDATE adk_ui_stream_leases SET run = '', stop = false, token = token + 1 WHERE chat = $1 AND run = $2
    RETURNING chat
), last AS (
    SELECT count, ending FROM adk_ui_stream_entries WHERE run = $2 ORDER BY after DESC LIMIT 1
), kept AS (
    UPDATE adk_ui_stream_logs SET kept_until = clock_timestamp() + $4 * interval '1 ms'
    WHERE run = $2 AND EXISTS (SELECT FROM freed)
    RETURNING run, greatest(joined, (SELECT count FROM last)) AS stored
), ended AS (
    INSERT INTO adk_ui_stream_entries
    SELECT run, stored, stored, '', 'broken' FROM kept WHERE NOT EXISTS (SELECT FROM last WHERE ending <> '')
    ON CONFLICT DO NOTHING
    RETURNING run
)
SELECT pg_notify($3 || reader.worker, 'more ' || reader.run) FROM ended JOIN adk_ui_stream_readers AS reader USING (run)
"""
"""Frees the chat: see ``RunStore.free``. The token grows, so that a delayed renewal from another connection cannot take
the chat again."""

WATCH: Final = """
-- chat, run, worker, ms (0: no longer)
WITH lease AS (
    SELECT run, worker, token FROM adk_ui_stream_leases WHERE chat = $1 AND run <> '' AND held_until > clock_timestamp()
), noted AS (
    INSERT INTO adk_ui_stream_readers AS reader
    SELECT $2, $3, clock_timestamp() + $4 * interval '1 ms' FROM lease WHERE run = $2 AND $4 > 0
    ON CONFLICT (run, worker) DO UPDATE SET until = excluded.until
), left_off AS (
    DELETE FROM adk_ui_stream_readers WHERE run = $2 AND worker = $3 AND $4 = 0
)
SELECT coalesce(lease.run, '') AS holder, coalesce(lease.worker, '') AS worker, coalesce(lease.token, 0) AS token, (
    SELECT greatest(log.joined, (
        SELECT count FROM adk_ui_stream_entries AS entry WHERE entry.run = $2 ORDER BY entry.after DESC LIMIT 1
    )) FROM adk_ui_stream_logs AS log WHERE log.run = $2
) AS available
FROM (VALUES (1)) AS one LEFT JOIN lease ON true
"""
"""Registers a worker as a reader of a run, for some milliseconds; 0 removes the registration. Returns the fields of
``LeaseView``."""

HEAD: Final = """
-- run
SELECT joined, events, past FROM adk_ui_stream_logs WHERE run = $1
"""
"""Returns the fields of ``Snapshot``."""

ENTRIES: Final = """
-- arrays: run, position; limit
SELECT wanted.item, entry.after, entry.count, entry.events, entry.ending
FROM unnest($1::text[], $2::integer[]) WITH ORDINALITY AS wanted (run, position, item) CROSS JOIN LATERAL (
    SELECT * FROM adk_ui_stream_entries AS entry
    WHERE entry.run = wanted.run AND entry.after >= coalesce((
        SELECT max(first.after) FROM adk_ui_stream_entries AS first
        WHERE first.run = wanted.run AND first.after <= wanted.position
    ), 0) AND (entry.count > wanted.position OR entry.ending <> '')
    ORDER BY entry.after LIMIT $3
) AS entry
ORDER BY wanted.item, entry.after
"""
"""Returns the next entries of several logs. For each log, the first entry contains the given position. ``item``: the
number of the log, from 1."""

STOP: Final = """
-- chat, run, id of the stop, seconds
WITH noted AS (
    INSERT INTO adk_ui_stream_leases AS lease
    SELECT $1::text || ' stopped', '', '', $3::text, '', 0, false, 0,
        clock_timestamp(), clock_timestamp() + $4 * interval '1 s'
    WHERE $3 <> ''
    ON CONFLICT (chat) DO UPDATE SET request = excluded.request, kept_until = excluded.kept_until
)
UPDATE adk_ui_stream_leases SET stop = true
WHERE chat = $1 AND run <> '' AND held_until > clock_timestamp() AND $2 IN ('', run)
RETURNING run, worker
"""
"""Asks the run that holds the lease to stop: see ``RunStore.stop``."""

NEWEST_STOP: Final = """
-- chat
SELECT request FROM adk_ui_stream_leases WHERE chat = $1 || ' stopped' AND kept_until > clock_timestamp()
"""
"""Returns the id of the chat's newest stop; no row without a recent stop."""

POST: Final = """
-- chat, run, id, content, ms
WITH lease AS (
    SELECT worker FROM adk_ui_stream_leases WHERE chat = $1 AND run = $2 AND held_until > clock_timestamp()
), kept AS (
    INSERT INTO adk_ui_stream_posts AS post
    SELECT $2, $3, $4::bytea, NULL, clock_timestamp() + $5 * interval '1 ms' FROM lease
    ON CONFLICT (run, id) DO UPDATE SET kept_until = excluded.kept_until
)
SELECT worker FROM lease
"""
"""Keeps a message for a run: see ``RunStore.post``. Returns no row if the run does not hold the lease."""

REPLY: Final = """
-- run, id, reply, ms
UPDATE adk_ui_stream_posts SET content = '', reply = $3::bytea, kept_until = clock_timestamp() + $4 * interval '1 ms'
WHERE run = $1 AND id = $2
"""
"""Stores a run's reply to a message, and deletes the content of the message."""

REPLY_TO: Final = """
-- run, id
SELECT reply FROM adk_ui_stream_posts WHERE run = $1 AND id = $2 AND reply IS NOT NULL
"""
"""Returns a run's reply to a message; no row if there is no reply."""

SWEEP: Final = """
-- limit
WITH old AS (
    DELETE FROM adk_ui_stream_logs WHERE run IN (
        SELECT run FROM adk_ui_stream_logs WHERE kept_until < clock_timestamp() LIMIT $1 FOR UPDATE SKIP LOCKED)
    RETURNING run
), entries AS (
    DELETE FROM adk_ui_stream_entries AS entry USING old WHERE entry.run = old.run
), leases AS (
    DELETE FROM adk_ui_stream_leases WHERE chat IN (
        SELECT chat FROM adk_ui_stream_leases WHERE kept_until < clock_timestamp() LIMIT $1 FOR UPDATE SKIP LOCKED)
), posts AS (
    DELETE FROM adk_ui_stream_posts WHERE (run, id) IN (
        SELECT run, id FROM adk_ui_stream_posts WHERE kept_until < clock_timestamp() LIMIT $1 FOR UPDATE SKIP LOCKED)
), readers AS (
    DELETE FROM adk_ui_stream_readers WHERE (run, worker) IN (
        SELECT run, worker FROM adk_ui_stream_readers WHERE until < clock_timestamp() LIMIT $1 FOR UPDATE SKIP LOCKED)
)
SELECT count(*) FROM old
"""
"""Removes expired rows, except those that another worker is removing. Returns the number of removed logs."""


def named(statement: str, prefix: str) -> str:
    """Return the statement with ``prefix`` as the beginning of all table names."""
    return statement.replace(PREFIX, prefix)
