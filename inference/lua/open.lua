-- Begin an attempt in an answer's log, fenced by the attempt's number and owner.
-- KEYS: 1 hash, 2 entries, 3 request, 4 channel
-- ARGV: 1 attempt, 2 owner, 3 v of the first entry, 4 x of it, 5 frozen request, 6 ttl in seconds,
--   7 id of the entry that the text kept ends with ('' = the first entry has all text, or there is none)
-- Answers {'ok', 0} | {'dup', n} | {'done', attempt} | {'fenced', attempt in the log} | {'gone', attempt in the log}:
--   it no longer ends where the opener read it (lost, an older replica, or an old owner wrote on)
local head = redis.call('HMGET', KEYS[1], 'a', 'o', 'n', 'done')
local attempt, current = tonumber(ARGV[1]), tonumber(head[1] or 0)
if current > attempt or (current == attempt and head[2] ~= ARGV[2]) then return {'fenced', current} end
if head[4] then return {'done', current} end
if current == attempt then return {'dup', tonumber(head[3])} end
if ARGV[7] ~= '' and ARGV[7] ~= (head[1] or '') .. '-' .. (head[3] or '') then return {'gone', current} end
local id = ARGV[1] .. '-0'
redis.call('HSET', KEYS[1], 'a', ARGV[1], 'o', ARGV[2], 'n', 0)
redis.call('XADD', KEYS[2], id, 'v', ARGV[3], 'x', ARGV[4])
redis.call('SET', KEYS[3], ARGV[5])
for i = 1, 3 do redis.call('EXPIRE', KEYS[i], ARGV[6]) end
redis.call('SPUBLISH', KEYS[4], id .. ' ' .. ARGV[3])
return {'ok', 0}
