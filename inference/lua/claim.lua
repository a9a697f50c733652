-- Take the head of a model's queue if the replica has a free slot.
-- KEYS: 1 waiting, 2 slots of the replica
-- ARGV: 1 owner, 2 limit, 3 seconds a slot lives
-- Answers the pk, or nil: queue empty or no slot free.
local now = tonumber(redis.call('TIME')[1])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[2]) then return nil end
local head = redis.call('ZPOPMIN', KEYS[1])
if not head[1] then return nil end
redis.call('ZADD', KEYS[2], now + tonumber(ARGV[3]), head[1] .. ':' .. ARGV[1])
return head[1]
