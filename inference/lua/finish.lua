-- Write and publish the last entry of an answer's log, after its row is terminal.
-- KEYS: 1 hash, 2 entries, 3 request, 4 channel
-- ARGV: 1 attempt, 2 owner, 3 number of the entry ('' = no gap check), 4 v, 5 purge ('1' deletes the text first), 6 ttl in seconds
-- Answers {'ok', n} | {'dup', n} | {'behind', n} | {'none', 0} | {'fenced', attempt in the log}
local head = redis.call('HMGET', KEYS[1], 'a', 'o', 'n', 'done')
if not head[1] then return {'none', 0} end
local attempt, current, n = tonumber(ARGV[1]), tonumber(head[1]), tonumber(head[3])
if current > attempt or (current == attempt and head[2] ~= ARGV[2]) then return {'fenced', current} end
if head[4] then return {'dup', n} end
if current < attempt then
  n = 0
else
  if ARGV[3] ~= '' and n ~= tonumber(ARGV[3]) - 1 then return {'behind', n} end
  n = n + 1
end
if ARGV[5] == '1' then redis.call('DEL', KEYS[2], KEYS[3]) end
local id = ARGV[1] .. '-' .. string.format('%d', n)
redis.call('XADD', KEYS[2], id, 'v', ARGV[4], 'x', '')
redis.call('HSET', KEYS[1], 'a', ARGV[1], 'o', ARGV[2], 'n', n, 'done', 1)
for i = 1, 3 do redis.call('EXPIRE', KEYS[i], ARGV[6]) end
redis.call('SPUBLISH', KEYS[4], id .. ' ' .. ARGV[4])
return {'ok', n}
