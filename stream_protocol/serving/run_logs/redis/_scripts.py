"""What must happen in Redis at one stroke. Each script touches the keys of one chat alone.

``lease`` is a hash that expires by itself unless it is renewed; how long it has left tells when that was. ``token``
grows with each run of the chat and outlives the lease, so an owner that finds the lease gone can see whether another
run came after it. ``log`` is a stream whose entries are numbered by the events that are there with them; ``head`` holds
that number, and what the trimmed entries have become. ``readers`` are workers whose readers follow the run, each with
the time until which that counts.

A write that a full Redis still takes comes first where a script must work there: the ones behind it are let through.
"""

from typing import Final

CLAIM: Final = """
-- KEYS lease token; ARGV run worker request lease-ms token-ms
local other = redis.call('HMGET', KEYS[1], 'run', 'request', 'phase', 'token', 'stop', 'worker', 'renewals')
if other[1] and other[1] ~= ARGV[1] then
    local phase = other[5] and other[3] == 'open' and 'closed' or other[3]
    return {0, other[6], other[7] or '0', other[1], other[2], phase, redis.call('PTTL', KEYS[1])}
end
if other[1] then return {1, other[4]} end
local now = redis.call('TIME')
local token = string.format('%.0f', math.max(
    tonumber(redis.call('GET', KEYS[2]) or '0') + 1, tonumber(now[1]) * 1000000 + tonumber(now[2])))
redis.call('SET', KEYS[2], token, 'PX', ARGV[5])
redis.call('HSET', KEYS[1], 'run', ARGV[1], 'worker', ARGV[2], 'request', ARGV[3], 'phase', 'claimed', 'token', token)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return {1, token}
"""
"""-> 1 and the token; or 0, the worker that has the chat, how often it has renewed its lease, and the run. Run twice,
it says the same: the first reply may be lost."""

PEEK: Final = """
-- KEYS lease
local lease = redis.call('HMGET', KEYS[1], 'run', 'request', 'phase', 'stop')
if not lease[1] then return {} end
local phase = lease[4] and lease[3] == 'open' and 'closed' or lease[3]
return {lease[1], lease[2], phase, redis.call('PTTL', KEYS[1])}
"""
"""-> what has the chat. What is to stop counts as closed: who asks next need not see it happen."""

RENEW: Final = """
-- KEYS lease token log head readers; ARGV run token worker request phase lease-ms token-ms log-ms
local lease = redis.call('HMGET', KEYS[1], 'run', 'token', 'stop')
local newest = math.max(tonumber(lease[2] or '0'), tonumber(redis.call('GET', KEYS[2]) or '0'))
if newest > tonumber(ARGV[2]) then return {0} end
if lease[1] and lease[1] ~= ARGV[1] then
    redis.call('DEL', KEYS[1])
    lease[3] = false
end
redis.call('PEXPIRE', KEYS[1], ARGV[6])
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[7])
redis.call('HSET', KEYS[1], 'run', ARGV[1], 'token', ARGV[2], 'worker', ARGV[3], 'request', ARGV[4], 'phase', ARGV[5])
redis.call('HINCRBY', KEYS[1], 'renewals', 1)
redis.call('PEXPIRE', KEYS[1], ARGV[6])
redis.call('PEXPIRE', KEYS[3], ARGV[8])
redis.call('PEXPIRE', KEYS[4], ARGV[8])
local now = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', now[1] * 1000 + math.floor(now[2] / 1000))
return {1, lease[3] and 1 or 0, redis.call('ZCARD', KEYS[5])}
"""
"""-> 0 if a newer run has had the chat, else 1, whether the run is to stop, and how many workers read it. A lease that
a fail-over forgot is written anew, also where the server that took over still has that of the run before."""

APPEND: Final = """
-- KEYS lease log head; ARGV run token expected count events past end log-ms
local lease = redis.call('HMGET', KEYS[1], 'run', 'token')
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
    redis.call('HSET', KEYS[1], 'phase', 'closed')
end
redis.call('PEXPIRE', KEYS[2], ARGV[8])
redis.call('PEXPIRE', KEYS[3], ARGV[8])
return tonumber(ARGV[4])
"""
"""-> how many events are there, or -1 for who does not have the chat. Appends nothing behind another number of events
than was expected, so a call that is made again does no harm."""

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
"""Puts joined events in the place of the first entries; -> as ``APPEND``."""

FREE: Final = """
-- KEYS lease log head; ARGV run expiry-ms end
if redis.call('HGET', KEYS[1], 'run') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
local head = redis.call('HMGET', KEYS[3], 'count', 'end')
if head[1] and not head[2] then
    redis.call('HSET', KEYS[3], 'end', 1)
    redis.call('XADD', KEYS[2], head[1] .. '-1', 'end', ARGV[3])
end
redis.call('PEXPIRE', KEYS[2], ARGV[2])
redis.call('PEXPIRE', KEYS[3], ARGV[2])
return 1
"""
"""Frees the chat. A log that has no end by then gets one that says so."""

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
"""A worker that reads a run says so, or no longer (0 ms); -> whose the chat is, that run's worker and token, and how
many events are there, -1 if there is no log."""

STOP: Final = """
-- KEYS lease; ARGV run
local lease = redis.call('HMGET', KEYS[1], 'run', 'worker')
if not lease[1] or (ARGV[1] ~= '' and ARGV[1] ~= lease[1]) then return {} end
redis.call('PEXPIRE', KEYS[1], redis.call('PTTL', KEYS[1]))
redis.call('HSET', KEYS[1], 'stop', 1)
return {lease[1], lease[2]}
"""
"""-> the run that is to stop, and its worker: the one that has the chat, if it is this one or none is named. The owner
finds the flag when it renews its lease."""
