-- Who is next in a model's queue; put before the scripts that need it. The same rule as core/fair.py.
-- Under the queue's base key: `:line:CLASS` hash of pk to `enqueued|until|weight|sharer|user|prefix` (ms by Postgres, ms
-- by this server), `:clocks:CLASS` hash of virtual times, `:turns` hash of CLASS to when it last had a turn (ms).
local CLASSES = {'begun', 'interactive', 'api', 'batch'}
local AGE_MS = {api = 5000, batch = 20000}
-- More people than this since a class was last empty: all debts are forgiven, so that the clocks stay small.
local MOST_CLOCKS = 4096

local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function line_key(base, class) return base .. ':line:' .. class end
local function clocks_key(base, class) return base .. ':clocks:' .. class end

local function is_before(tag, entry, other_tag, other)
  if tag ~= other_tag then return tag < other_tag end
  if entry.at ~= other.at then return entry.at < other.at end
  return entry.pk < other.pk
end

local function hash(key)
  local flat, found = redis.call('HGETALL', key), {}
  for i = 1, #flat, 2 do found[flat[i]] = flat[i + 1] end
  return found
end

-- The first entry of each sharer by its users' turns; what is past its deadline is dropped.
local function firsts(base, class, clocks, now)
  local found = {}
  for pk, packed in pairs(hash(line_key(base, class))) do
    local at, until_ms, weight, sharer, user, prefix =
      string.match(packed, '^(%d+)|(%d+)|(%d+)|([^|]*)|([^|]*)|(.*)$')
    if tonumber(until_ms) < now then
      redis.call('HDEL', line_key(base, class), pk)
    else
      local entry = {pk = pk, class = class, at = tonumber(at), weight = tonumber(weight), sharer = sharer, user = user,
        prefix = prefix}
      entry.user_tag = math.max(tonumber(clocks[sharer .. '|' .. user] or 0), tonumber(clocks[sharer .. '|'] or 0))
      local best = found[sharer]
      if not best or is_before(entry.user_tag, entry, best.user_tag, best) then found[sharer] = entry end
    end
  end
  return found
end

local function head_of(base, class, now)
  if redis.call('HLEN', line_key(base, class)) == 0 then return nil end
  local clocks, best = hash(clocks_key(base, class)), nil
  for sharer, entry in pairs(firsts(base, class, clocks, now)) do
    entry.tag = math.max(tonumber(clocks[sharer] or 0), tonumber(clocks['@'] or 0))
    if not best or is_before(entry.tag, entry, best.tag, best) then best = entry end
  end
  return best
end

-- A class that is due for a turn by age goes first, else the first class in which somebody waits.
local function head(base, now)
  local turns = hash(base .. ':turns')
  for _, class in ipairs(CLASSES) do
    if AGE_MS[class] and now - tonumber(turns[class] or now) >= AGE_MS[class] then
      local entry = head_of(base, class, now)
      if entry then return entry end
    end
  end
  for _, class in ipairs(CLASSES) do
    local entry = head_of(base, class, now)
    if entry then return entry end
  end
  return nil
end

local function take(base, entry, now)
  local clocks = clocks_key(base, entry.class)
  redis.call('HDEL', line_key(base, entry.class), entry.pk)
  redis.call('HSET', base .. ':turns', entry.class, now)
  if redis.call('HLEN', line_key(base, entry.class)) == 0 or redis.call('HLEN', clocks) > MOST_CLOCKS then
    redis.call('DEL', clocks)
    return
  end
  local function exact(number) return string.format('%.17g', number) end
  redis.call('HSET', clocks, '@', exact(entry.tag), entry.sharer, exact(entry.tag + 1 / entry.weight),
    entry.sharer .. '|', exact(entry.user_tag), entry.sharer .. '|' .. entry.user, exact(entry.user_tag + 1))
end

local function count(base)
  local waiting = 0
  for _, class in ipairs(CLASSES) do waiting = waiting + redis.call('HLEN', line_key(base, class)) end
  return waiting
end
