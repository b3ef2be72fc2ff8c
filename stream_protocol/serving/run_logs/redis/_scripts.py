"""The Lua scripts that change the keys of a chat in Redis. Redis runs each script as one atomic step.

Keys of a chat (see ``ChatKeys``):

- ``lease``: a hash with the active run of the chat. The key expires unless the worker of the run renews the lease.
- ``token``: the newest fencing token, a number that grows with each run of the chat. The key expires later than the
  lease. So a worker with an expired lease can find out if a newer run has taken the chat.
- ``log``: a Redis stream with the events of a run. The id of an entry is the number of events before the entry plus the
  events in it.
- ``head``: a hash with the number of events, and with merged events. The merged events replace the oldest entries of
  the stream.
- ``readers``: a sorted set of the other workers that read a run. The score of a worker is the time at which its
  registration as a reader ends.
- ``stopped``: the id of the newest stop of the chat. The key expires a fixed time after the stop, so its remaining time
  shows when the chat was stopped.
- ``posts``: a hash of the messages that requests at other workers send to a run. Maps the id of a message to its
  content.
- ``reply``: the reply of a run to one of these messages. Only the scripts ``POST`` and ``REPLY`` use this key.

If Redis is full (``maxmemory``), it refuses commands that need memory. But after a script has written something, Redis
refuses none of its commands. So a script that must work in a full Redis begins with a write that needs no memory.
"""

from typing import Final

from stream_protocol.serving.run_logs._run_store import chat_key

NOT_HELD: Final = -1
"""The result of ``APPEND`` and ``REPLACE`` for a run that does not hold the chat's lease."""

NO_LOG: Final = -1
"""The number of events that ``WATCH`` returns without a log."""


class ChatKeys:
    """The Redis keys of one chat. They share a hash tag, so that a cluster keeps them on one node."""

    def __init__(self, prefix: str, chat: str) -> None:
        self._tag = f"{prefix}:{{{chat_key(chat)}}}"
        self.lease = f"{self._tag}:lease"
        self.token = f"{self._tag}:token"
        self.stopped = f"{self._tag}:stopped"

    def log(self, run_id: str) -> str:
        return f"{self._tag}:log:{run_id}"

    def head(self, run_id: str) -> str:
        return f"{self._tag}:head:{run_id}"

    def readers(self, run_id: str) -> str:
        return f"{self._tag}:readers:{run_id}"

    def posts(self, run_id: str) -> str:
        return f"{self._tag}:posts:{run_id}"

    def reply(self, run_id: str, post_id: str) -> str:
        return f"{self._tag}:reply:{run_id}:{post_id}"


CLAIM: Final = """
-- KEYS lease token; ARGV run worker request lease-ms token-ms
local other = redis.call('HMGET', KEYS[1], 'run', 'request', 'phase', 'stop')
if other[1] and other[1] ~= ARGV[1] then
    return {0, other[1], other[2], other[3], other[4] and 1 or 0, redis.call('PTTL', KEYS[1])}
end
if other[1] then return {1, redis.call('HGET', KEYS[1], 'token')} end
local now = redis.call('TIME')
local token = string.format('%.0f', math.max(
    tonumber(redis.call('GET', KEYS[2]) or '0') + 1, tonumber(now[1]) * 1000000 + tonumber(now[2])))
redis.call('SET', KEYS[2], token, 'PX', ARGV[5])
redis.call('HSET', KEYS[1], 'run', ARGV[1], 'worker', ARGV[2], 'request', ARGV[3], 'phase', 'claimed', 'token', token)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return {1, token}
"""
"""Gives the chat to a run. Returns 1 and the run's token. If another run holds the lease, returns 0 and the data of
``PEEK``."""

PEEK: Final = """
-- KEYS lease
local lease = redis.call('HMGET', KEYS[1], 'run', 'request', 'phase', 'stop')
if not lease[1] then return {} end
return {lease[1], lease[2], lease[3], lease[4] and 1 or 0, redis.call('PTTL', KEYS[1])}
"""
"""Returns the run that holds the lease: id, idempotency key, phase, 1 if it was asked to stop, and the lease's
remaining milliseconds. Empty if the chat is free."""

RENEW: Final = """
-- KEYS lease token log head readers posts stopped
-- ARGV run token worker request phase lease-ms token-ms log-ms stop-ms
local lease = redis.call('HMGET', KEYS[1], 'run', 'token', 'stop', 'phase')
local newest = math.max(tonumber(lease[2] or '0'), tonumber(redis.call('GET', KEYS[2]) or '0'))
if newest > tonumber(ARGV[2]) then return {0} end
if lease[1] and lease[1] ~= ARGV[1] then
    redis.call('DEL', KEYS[1])
    lease[3], lease[4] = false, false
end
if lease[1] ~= ARGV[1] then redis.call('DEL', KEYS[6]) end
local phase = lease[4] == 'closed' and 'closed' or ARGV[5]
redis.call('PEXPIRE', KEYS[1], ARGV[6])
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[7])
redis.call('HSET', KEYS[1], 'run', ARGV[1], 'token', ARGV[2], 'worker', ARGV[3], 'request', ARGV[4], 'phase', phase)
redis.call('PEXPIRE', KEYS[1], ARGV[6])
redis.call('PEXPIRE', KEYS[3], ARGV[8])
redis.call('PEXPIRE', KEYS[4], ARGV[8])
local now = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', now[1] * 1000 + math.floor(now[2] / 1000))
local stop, left = lease[3], redis.call('PTTL', KEYS[7])
if not lease[1] and left > 0 then
    stop = now[1] * 1000000 + now[2] - (ARGV[9] - left) * 1000 > tonumber(ARGV[2])
end
return {1, stop and 1 or 0, redis.call('ZCARD', KEYS[5]), unpack(redis.call('HGETALL', KEYS[6]))}
"""
"""Renews a lease: see ``RunStore.renew``. Returns 0 if a newer run has taken the chat. Otherwise returns 1, then 1 if
the run must stop, and the number of other workers that read the run. Then come the messages to the run: id, content,
id, content, and so on. If the store had lost the lease, earlier messages are deleted, because their senders got the
reply that the run has ended."""

APPEND: Final = """
-- KEYS lease log head; ARGV run token expected count events past end log-ms
local lease = redis.call('HMGET', KEYS[1], 'run', 'token', 'phase')
if lease[1] ~= ARGV[1] or lease[2] ~= ARGV[2] then return -1 end
local head = redis.call('HMGET', KEYS[3], 'count', 'end')
local count = tonumber(head[1] or '0')
if count ~= tonumber(ARGV[3]) or head[2] then return count end
if ARGV[5] ~= '' then
    redis.call('XADD', KEYS[2], ARGV[4] .. '-0', 'after', ARGV[3], 'events', ARGV[5])
end
if count == 0 and ARGV[6] ~= '' then redis.call('HSET', KEYS[3], 'past', ARGV[6]) end
redis.call('HSET', KEYS[3], 'count', ARGV[4])
if ARGV[7] ~= '' then
    redis.call('HSET', KEYS[3], 'end', 1)
    redis.call('XADD', KEYS[2], ARGV[4] .. '-1', 'end', ARGV[7])
    if lease[3] == 'open' then redis.call('HSET', KEYS[1], 'phase', 'closed') end
end
redis.call('PEXPIRE', KEYS[2], ARGV[8])
redis.call('PEXPIRE', KEYS[3], ARGV[8])
return tonumber(ARGV[4])
"""
"""Appends events to a run's log: see ``RunStore.append``. Returns -1 if the run does not hold the lease."""

REPLACE: Final = """
-- KEYS lease log head; ARGV run token joined events past log-ms
local lease = redis.call('HMGET', KEYS[1], 'run', 'token')
if lease[1] ~= ARGV[1] or lease[2] ~= ARGV[2] then return -1 end
local joined = tonumber(ARGV[3])
local count = math.max(tonumber(redis.call('HGET', KEYS[3], 'count') or '0'), joined)
redis.call('HSET', KEYS[3], 'count', count, 'joined', joined, 'events', ARGV[4], 'past', ARGV[5])
redis.call('XTRIM', KEYS[2], 'MINID', ARGV[3] .. '-1')
redis.call('PEXPIRE', KEYS[2], ARGV[6])
redis.call('PEXPIRE', KEYS[3], ARGV[6])
return count
"""
"""Replaces the oldest entries of a run with longer events: see ``RunStore.replace``. Returns -1 if the run does not
hold the lease."""

FREE: Final = """
-- KEYS lease token log head; ARGV run token-ms expiry-ms end
local lease = redis.call('HMGET', KEYS[1], 'run', 'token')
if lease[1] ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], string.format('%.0f', lease[2] + 1), 'PX', ARGV[2])
local head = redis.call('HMGET', KEYS[4], 'count', 'end')
if head[1] and not head[2] then
    redis.call('HSET', KEYS[4], 'end', 1)
    redis.call('XADD', KEYS[3], head[1] .. '-1', 'end', ARGV[4])
end
redis.call('PEXPIRE', KEYS[3], ARGV[3])
redis.call('PEXPIRE', KEYS[4], ARGV[3])
return 1
"""
"""Frees the chat: see ``RunStore.free``. The token grows, so that a delayed renewal from another connection cannot take
the chat again."""

WATCH: Final = """
-- KEYS lease head readers; ARGV run reader until-ms
local count = redis.call('HGET', KEYS[2], 'count')
local lease = redis.call('HMGET', KEYS[1], 'run', 'worker', 'token')
if lease[1] == ARGV[1] and ARGV[3] ~= '0' then
    local now = redis.call('TIME')
    redis.call('PEXPIRE', KEYS[3], ARGV[3])
    redis.call('ZADD', KEYS[3], now[1] * 1000 + math.floor(now[2] / 1000) + ARGV[3], ARGV[2])
    redis.call('PEXPIRE', KEYS[3], ARGV[3])
elseif lease[1] == ARGV[1] then
    redis.call('ZREM', KEYS[3], ARGV[2])
end
return {lease[1] or '', lease[2] or '', lease[3] or '0', tonumber(count or '-1')}
"""
"""Registers a worker as a reader of a run, for some milliseconds; 0 removes the registration. Returns the fields of
``LeaseView``."""

STOP: Final = """
-- KEYS lease stopped; ARGV run stop-id seconds
local lease = redis.call('HMGET', KEYS[1], 'run', 'worker')
local found = lease[1] and (ARGV[1] == '' or ARGV[1] == lease[1])
if found then
    redis.call('PEXPIRE', KEYS[1], redis.call('PTTL', KEYS[1]))
    redis.call('HSET', KEYS[1], 'stop', 1)
end
if ARGV[2] ~= '' then redis.pcall('SET', KEYS[2], ARGV[2], 'EX', ARGV[3]) end
if not found then return {} end
return {lease[1], lease[2]}
"""
"""Asks the run that holds the lease to stop: see ``RunStore.stop``. Returns an empty reply if no such run holds the
lease."""

POST: Final = """
-- KEYS lease posts reply; ARGV run id content ms
local lease = redis.call('HMGET', KEYS[1], 'run', 'worker')
if lease[1] ~= ARGV[1] then return {} end
if redis.call('EXISTS', KEYS[3]) == 0 then
    redis.call('HSETNX', KEYS[2], ARGV[2], ARGV[3])
    redis.call('PEXPIRE', KEYS[2], ARGV[4])
end
return {lease[2]}
"""
"""Keeps a message for a run, unless it already has a reply: see ``RunStore.post``."""

REPLY: Final = """
-- KEYS posts reply; ARGV id reply ms
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return 1
"""
"""Stores a run's reply to a message, and deletes the message."""
