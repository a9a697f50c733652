-- Give a slot back, measure how fast slots come free while somebody waits, and wake the dispatchers. After fair.lua.
-- KEYS: 1 base, 2 slots of the replica
-- ARGV: 1 member, 2 seconds that a pace is worth knowing
-- `:pace`: hash of last (ms of the last release while somebody waited) and ms (smoothed time between two)
local base, pace = KEYS[1], KEYS[1] .. ':pace'
if redis.call('ZREM', KEYS[2], ARGV[1]) == 1 then
  if count(base) == 0 then
    redis.call('HDEL', pace, 'last')
  else
    local now, known = now_ms(), redis.call('HMGET', pace, 'last', 'ms')
    if known[1] then
      local passed = now - tonumber(known[1])
      local smoothed = known[2] and 0.8 * tonumber(known[2]) + 0.2 * passed or passed
      redis.call('HSET', pace, 'ms', string.format('%.3f', smoothed))
    end
    redis.call('HSET', pace, 'last', now)
    redis.call('EXPIRE', pace, ARGV[2])
  end
end
redis.call('PUBLISH', base .. ':ch', 'free')
return 0
