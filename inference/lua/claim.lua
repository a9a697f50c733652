-- Look at the head of a model's queue, or take it with a slot on a replica if it is still the one that was looked at.
-- After fair.lua.
-- KEYS: 1 base, then the slots of each of the model's replicas
-- ARGV: 1 owner, 2 seconds a slot lives, 3 pk to take ('' = only look), 4 number of the replica, 5 its limit
-- Answers {word, pk of the head there is now ('' = none), its prefix, slots taken on each replica}:
--   ok: taken, and the head is the next one; full: no slot is free there; other: the head is another
local base, now, word = KEYS[1], now_ms(), 'other'
for i = 2, #KEYS do redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', math.floor(now / 1000)) end
local first = head(base, now)
if first and ARGV[3] == first.pk then
  local slots = KEYS[1 + tonumber(ARGV[4])]
  if redis.call('ZCARD', slots) >= tonumber(ARGV[5]) then
    word = 'full'
  else
    take(base, first, now)
    redis.call('ZADD', slots, math.floor(now / 1000) + tonumber(ARGV[2]), first.pk .. ':' .. ARGV[1])
    word, first = 'ok', head(base, now)
  end
end
local answer = {word, first and first.pk or '', first and first.prefix or ''}
for i = 2, #KEYS do answer[#answer + 1] = redis.call('ZCARD', KEYS[i]) end
return answer
