-- One step of a gate that many processes share. Every number is a whole one from 0 to 2^53 - 1, sums and products end
-- there; times are microseconds of this server's clock. The same steps stand in Rust in src/gate/fleet/twin.rs.
--
-- KEYS: 1 the gate.
-- ARGV: 1 the opening that the words are about, 2 what a refusal asks (-1: there is none), 3 whether the process accuses
--       by it (1), takes that back (-1) or neither (0), 4 successes, 5 tickets wanted, 6 what remains of the quota (-1: not
--       heard of, -2: a success told of none), 7 its limit (0: not told), 8 the time until its reset, 9 the turn in which
--       that was heard, 10 a random number below a million, 11 the channel.
-- Gives: opening, closed, until, first ticket, granted, next ticket, from, round, first, group, remaining (-1: no quota),
--        reset, turn, now.
local MOST = 9007199254740991
local SECOND = 1000000
local SLOWEST = 60 * SECOND
local KEPT_MS = 3600000
-- The longest pause and the longest time until a reset, and the highest opening.
local LONGEST = 3600 * SECOND
local MOST_OPENINGS = 4503599627370496

local function number(text, low, high)
  if type(text) ~= 'string' or #text > 16 or not text:match('^%-?%d+$') then return nil end
  local n = tonumber(text)
  if n < low or n > high then return nil end
  return n
end
local function sum(a, b) return math.min(a + b, MOST) end
local function less(a, b) return math.max(a - b, 0) end
local function product(a, b) return math.min(a * b, MOST) end
local function quotient(a, b) return (a - math.fmod(a, b)) / b end
local function clamp(n, low, high) return math.max(low, math.min(n, high)) end
local function text(n) return string.format('%.0f', n) end

local LOWEST, HIGHEST = { [2] = -1, [3] = -1, [6] = -2 }, { MOST_OPENINGS }
local a = {}
for i = 1, 10 do
  a[i] = number(ARGV[i], LOWEST[i] or 0, HIGHEST[i] or MOST)
  if not a[i] then return redis.error_reply('FLEET bad argument ' .. i) end
end
a[2], a[8] = math.min(a[2], LONGEST), math.min(a[8], LONGEST)
local time = redis.call('TIME')
local now = tonumber(time[1]) * SECOND + tonumber(time[2])

-- The state. Any field that is not what this script has written makes the whole of it a new one, and so does a clock that
-- was set back: what is past would be to come, and what is to come would be further off than anything is planned.
local BOUNDS = { opening = { 0, MOST_OPENINGS }, closed = { 0, 1 }, asked = { 0, LONGEST }, doublings = { 0, 11 },
  each = { 1, SLOWEST }, round = { 0, SLOWEST }, group = { 2, 4 }, known = { 0, 1 }, fresh = { 0, 1 },
  len = { 0, LONGEST } }
local NAMES = { 'opening', 'closed', 'closed_at', 'until', 'asked', 'accusers', 'doublings', 'ok', 'since', 'lately', 'each',
  'from', 'round', 'first', 'group', 'next', 'kept', 'known', 'remaining', 'limit', 'reset', 'turn', 'fresh', 'len' }
local stored = redis.pcall('HMGET', KEYS[1], unpack(NAMES))
if stored.err then return stored end
local g, whole = {}, true
for i, name in ipairs(NAMES) do
  local bounds = BOUNDS[name] or { 0, MOST }
  g[name] = number(stored[i], bounds[1], bounds[2])
  whole = whole and g[name] ~= nil
end
if whole then
  local latest = sum(now, SECOND)
  local past = math.max(g.closed_at, g.since)
  whole = past <= latest and g['until'] <= sum(latest, LONGEST) and g.from <= sum(latest, SLOWEST)
    and (g.known == 0 or g.reset <= sum(latest, math.max(g.len, SECOND)))
end
if not whole then
  for _, name in ipairs(NAMES) do g[name] = 0 end
  g.opening, g.since, g.each, g.group = a[1], now, SLOWEST, 2
end

local function group_of(calls) return clamp(quotient(calls, 4), 2, 4) end
local function due(ticket)
  local left, at, count = ticket - math.fmod(ticket, g.group), g.from, math.max(g.first, 1)
  for _ = 1, 40 do
    if count > 67108864 then break end
    if left < count then return sum(at, quotient(product(left, g.round), count)) end
    left, at, count = less(left, count), sum(at, g.round), product(count, 2)
  end
  return at
end

-- 1. Past its reset the quota is whole. What was given during a pause is used in this turn.
local given = g.closed == 1 and g.next or 0
if g.known == 1 and now >= g.reset then
  g.remaining, g.turn, g.fresh = less(g.limit, given), sum(g.turn, 1), 1
  g.reset = sum(now, math.max(g.len, SECOND))
  if g.closed == 0 then
    g.opening, g['until'], g.from, g.next, g.kept = sum(g.opening, 1), now, now, 0, 0
    g.round = math.min(quotient(g.len, 5), 5 * SECOND)
    g.first, g.group = g.limit, group_of(g.limit)
  end
end

-- 2. Successes; old ones weigh less while the gate is open and no release is on.
if g.closed == 0 and due(g.next) <= now then
  local age = less(now, g.since)
  if age > 20 * SECOND then
    local halvings = quotient(age, 20 * SECOND)
    g.ok = halvings < 64 and math.floor(g.ok / 2 ^ halvings) or 0
    g.since = less(now, 10 * SECOND)
  end
end
g.ok = sum(g.ok, a[4])

-- 3. What an answer of the current turn says of the quota.
if a[6] ~= -1 and a[9] == g.turn then
  if a[6] == -2 then
    if g.fresh == 1 then g.known = 0 end
  else
    if g.known == 0 then g.remaining = less(a[6], given) end
    g.remaining = math.min(g.remaining, a[6])
    if g.known == 0 or g.fresh == 1 then g.reset, g.len = sum(now, a[8]), a[8] end
    g.limit = a[7] > 0 and a[7] or math.max(g.limit, sum(a[6], 1))
    g.known, g.fresh = 1, 0
  end
end

-- 4. A refusal, and what takes one back.
local changed = false
if a[2] >= 0 and g.closed == 1 then
  if a[3] == 1 then g.accusers = sum(g.accusers, 1) end
  g.asked = math.max(g.asked, a[2])
  local later = math.max(g['until'], sum(now, a[2]))
  changed = later ~= g['until']
  g['until'] = later
elseif a[2] >= 0 then
  local pause = a[2]
  if a[1] == g.opening then
    local again = g.opening > 0 and g.ok == 0 and less(now, g['until']) < 60 * SECOND
    g.doublings = again and math.min(g.doublings + 1, 11) or 0
    if g.doublings > 0 then
      local doubled = product(math.max(a[2], 10000), 2 ^ g.doublings)
      pause = math.min(doubled, math.max(20 * SECOND, a[2]))
    end
  end
  g.closed, g.closed_at, g['until'], g.asked = 1, now, sum(now, pause), a[2]
  g.accusers, g.kept, g.next, changed = 1, g.next, 0, true
end
if a[3] == -1 and a[1] == g.opening then
  g.accusers = less(g.accusers, 1)
  if g.closed == 1 and g.accusers == 0 then
    g.closed, g.from, changed = 0, sum(g.from, less(now, g.closed_at)), true
    g.next, g.kept = g.kept, 0
  end
end
local contradicted = changed and g.closed == 0

-- 5. The pause has ended by itself.
if g.closed == 1 and now >= g['until'] then
  local reach = clamp(product(less(g['until'], g.closed_at), 4), SECOND, 5 * SECOND)
  local cycle = math.max(math.min(less(now, g.since), reach), 1)
  local slowest = math.min(product(g.each, 2), SLOWEST)
  g.each = clamp(quotient(cycle, math.max(g.ok, 1)), 1, slowest)
  g.lately = math.max(g.ok, quotient(g.lately, 2))
  g.group = group_of(g.lately)
  g.from = sum(now, quotient(product(a[10], g.each), 1000000))
  g.round = math.max(reach, g.each)
  g.first = quotient(g.round, g.each)
  if g.known == 1 and g.fresh == 1 and product(g.lately, 2) >= g.limit then g.from, g.round = now, 0 end
  g.ok, g.since, g.closed, g.opening = 0, now, 0, sum(g.opening, 1)
  g.accusers, g.kept = 0, 0
end

-- 6. Tickets, no more than remain.
local ticket = g.next
local granted = g.known == 1 and math.min(a[5], g.remaining) or a[5]
g.remaining = less(g.remaining, granted)
g.next = sum(g.next, granted)

local fields = {}
for _, name in ipairs(NAMES) do
  fields[#fields + 1] = name
  fields[#fields + 1] = text(g[name])
end
redis.call('HSET', KEYS[1], unpack(fields))
redis.call('PEXPIRE', KEYS[1], KEPT_MS)
if changed and (g.closed == 1 or contradicted) then
  local left = g.closed == 1 and less(g['until'], now) or 0
  left = quotient(left + 999, 1000)
  redis.call('PUBLISH', ARGV[11], text(g.opening) .. ':' .. text(left))
end
local answer = { g.opening, g.closed, g['until'], ticket, granted, g.next, g.from, g.round, g.first, g.group,
  g.known == 1 and g.remaining or -1, g.reset, g.turn, now }
for i, n in ipairs(answer) do answer[i] = text(n) end
return answer
