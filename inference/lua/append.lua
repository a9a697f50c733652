-- Add a batch of entries to an answer's log, and publish each; all or nothing.
-- KEYS: 1 hash, 2 entries, 3 channel
-- ARGV: 1 attempt, 2 owner, 3 number of the first entry, then v and x of each
-- Answers {'ok', n} | {'dup', n} | {'behind', n} | {'gone', 0} | {'fenced', attempt in the log}
local head = redis.call('HMGET', KEYS[1], 'a', 'o', 'n', 'done')
local attempt, current = tonumber(ARGV[1]), tonumber(head[1] or 0)
if current < attempt then return {'gone', 0} end
-- After `done` even for its owner: the row is terminal, and withdrawn text must not come back.
if current > attempt or head[2] ~= ARGV[2] or head[4] then return {'fenced', current} end
local n, first = tonumber(head[3]), tonumber(ARGV[3])
local last = first + (#ARGV - 3) / 2 - 1
if n >= last then return {'dup', n} end
if n ~= first - 1 then return {'behind', n} end
for i = 4, #ARGV, 2 do
  n = n + 1
  local id = ARGV[1] .. '-' .. string.format('%d', n)
  redis.call('XADD', KEYS[2], id, 'v', ARGV[i], 'x', ARGV[i + 1])
  redis.call('SPUBLISH', KEYS[3], id .. ' ' .. ARGV[i])
end
redis.call('HSET', KEYS[1], 'n', n)
return {'ok', n}
