-- Renew slots that still exist.
-- KEYS: 1 slots of the replica
-- ARGV: 1 seconds a slot lives, then members
local expires = tonumber(redis.call('TIME')[1]) + tonumber(ARGV[1])
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], 'XX', expires, ARGV[i]) end
return #ARGV - 1
