-- Queue an answer and wake the dispatchers. After fair.lua.
-- KEYS: 1 base
-- ARGV: 1 pk, 2 class, 3 enqueued (ms), 4 time to its deadline (ms), 5 weight, 6 sharer, 7 user, 8 prefix, 9 most that may wait
-- Answers ok | dup (it waits already, and keeps its place) | full. What has begun is never refused.
local base, pk, class = KEYS[1], ARGV[1], ARGV[2]
for _, other in ipairs(CLASSES) do
  if redis.call('HEXISTS', line_key(base, other), pk) == 1 then return 'dup' end
end
if class ~= 'begun' and count(base) >= tonumber(ARGV[9]) then return 'full' end
local now = now_ms()
if redis.call('HLEN', line_key(base, class)) == 0 then redis.call('HSET', base .. ':turns', class, now) end
local until_ms = string.format('%.0f', math.max(now + tonumber(ARGV[4]), 0))
local packed = table.concat({ARGV[3], until_ms, ARGV[5], ARGV[6], ARGV[7], ARGV[8]}, '|')
redis.call('HSET', line_key(base, class), pk, packed)
redis.call('PUBLISH', base .. ':ch', 'put')
return 'ok'
