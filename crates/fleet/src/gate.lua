-- One step of a gate that many processes share: the vote and the cooldown of all, by the rules of `gate::vote` in
-- http-retry-core.
-- Every number is a whole one from 0 to 2^53 - 1, sums and products end there; times are microseconds of this server's
-- clock. The same steps are in Rust in src/gate/model.rs.
--
-- KEYS: 1 the gate.
-- ARGV: 1 the last change that the process knows, 2 successes, 3 refusals after them, 4 successes of calls that were sent
--       after the first refused one, 5 the cooldown that the last refusal asked for (-1: none), 6 the channel.
-- Gives: the last change, how long the gate stays closed (0: it is open), whether the process sends a probe (1).
local MOST = 9007199254740991
local SECOND = 1000000
local KEPT_MS = 3600000
local LONGEST = 3600 * SECOND
local MOST_CHANGES = 4503599627370496
local FIRST_PATIENCE, MIN_PATIENCE, MAX_PATIENCE = 4, 2, 16
local NO_WISH, MAX_DOUBLED = 100000, 20 * SECOND

local function number(text, low, high)
  if type(text) ~= 'string' or #text > 16 or not text:match('^%-?%d+$') then return nil end
  local n = tonumber(text)
  if n < low or n > high then return nil end
  return n
end
local function sum(a, b) return math.min(a + b, MOST) end
local function less(a, b) return math.max(a - b, 0) end
local function half(a) return (a - math.fmod(a, 2)) / 2 end
local function text(n) return string.format('%.0f', n) end

local BOUNDS = { { 0, MOST_CHANGES }, { 0, MOST }, { 0, MOST }, { 0, MOST }, { -1, MOST } }
local a = {}
for i, bounds in ipairs(BOUNDS) do
  a[i] = number(ARGV[i], bounds[1], bounds[2])
  if not a[i] then return redis.error_reply('FLEET bad argument ' .. i) end
end
local change, successes, refusals, later, asked = a[1], a[2], a[3], a[4], math.min(a[5], LONGEST)
local time = redis.call('TIME')
local now = tonumber(time[1]) * SECOND + tonumber(time[2])

-- The state. It begins anew if a field is not what this script has written, if the clock was set back, and if a process
-- knows of a later change.
local FIELDS = { 'change', 'until', 'standing', 'refusals', 'successes', 'patience', 'doublings', 'ok', 'probes' }
local LIMITS = { change = { 0, MOST_CHANGES }, standing = { 0, 1 }, patience = { MIN_PATIENCE, MAX_PATIENCE },
  doublings = { 0, 11 }, ok = { 0, 1 }, probes = { 0, MAX_PATIENCE } }
local stored = redis.pcall('HMGET', KEYS[1], unpack(FIELDS))
if stored.err then return stored end
local g, whole = {}, true
for i, name in ipairs(FIELDS) do
  local limits = LIMITS[name] or { 0, MOST }
  g[name] = number(stored[i], limits[1], limits[2])
  whole = whole and g[name] ~= nil
end
if not whole or g['until'] > now + LONGEST + SECOND or g.change < change then
  g = { change = change, ['until'] = 0, standing = 0, refusals = 0, successes = 0, patience = FIRST_PATIENCE,
    doublings = 0, ok = 1, probes = 0 }
end

-- 1. A cooldown that nobody contradicted: the next vote takes half as many refusals.
if g.standing == 1 and now >= g['until'] then
  g.standing, g.patience = 0, math.max(half(g.patience), MIN_PATIENCE)
  g.refusals, g.successes = 0, 0
end
-- 2. Half as many successes as refusals end a run, of a long one a quarter. While the gate is closed only the later ones
-- count.
local function run_ends(more)
  g.successes = sum(g.successes, more)
  local share = g.refusals < MAX_PATIENCE and 2 or 4
  if math.min(share * g.successes, MOST) < g.refusals then return false end
  g.refusals, g.successes = 0, 0
  return true
end
if successes > 0 or later > 0 then g.ok = 1 end
if g.standing == 0 then run_ends(successes) end
-- 3. Refusals and later successes, unless they are of before the last change.
local changed, ends = false, false
if change == g.change then
  g.refusals = sum(g.refusals, refusals)
  ends = later > 0 and run_ends(later)
end
if ends and g.standing == 1 then
  g.standing, changed = 0, true
  g.patience, g.change = math.min(g.patience * 2, MAX_PATIENCE), sum(g.change, 1)
elseif change == g.change and refusals > 0 and g.standing == 1 then
  local till = math.max(g['until'], now + (asked >= 0 and asked or NO_WISH))
  changed, g['until'] = till ~= g['until'], till
elseif change == g.change and refusals > 0 and g.refusals >= g.patience then
  g.doublings = g.ok == 0 and math.min(g.doublings + 1, asked >= 0 and 2 or 11) or 0
  local cooldown = asked >= 0 and asked or NO_WISH
  cooldown = math.min(cooldown * 2 ^ g.doublings, math.max(MAX_DOUBLED, cooldown))
  g.standing, g['until'], g.ok, changed = 1, now + cooldown, 0, true
  g.probes, g.change = half(g.patience), sum(g.change, 1)
end

-- 4. One more process may send a probe.
local probes = g.standing == 1 and g.probes > 0
if probes then g.probes = g.probes - 1 end

local fields = {}
for _, name in ipairs(FIELDS) do
  fields[#fields + 1] = name
  fields[#fields + 1] = text(g[name])
end
redis.call('HSET', KEYS[1], unpack(fields))
redis.call('PEXPIRE', KEYS[1], KEPT_MS)
local left = g.standing == 1 and less(g['until'], now) or 0
if changed then
  redis.call('PUBLISH', ARGV[6], text(g.change) .. ':' .. text((left + 999 - math.fmod(left + 999, 1000)) / 1000))
end
return { text(g.change), text(left), probes and '1' or '0' }
