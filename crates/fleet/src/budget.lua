-- One step of a fleet's budget: settles what a process has earned and taken, then grants what it wants.
--
-- KEYS: 1 the bucket, 2 the record of the process.
-- ARGV, amounts in millionths of a token: 1 capacity, 2 initial, 3 growth_ms, 4 per_second, 5 per_success,
--   6 min_per_second, 7 unit, 8 seq, 9 successes, 10 successes_acked, 11 taken, 12 taken_acked, 13 want, 14 known (-1:
--   nothing is known).
-- Reply: granted, tokens, capacity, processes, now_ms, flag (0 settled, 1 repeated, 2 the bucket is new).
--
-- Every number is an integer below 2^53, so that Lua's floating point is exact. The same steps are in Rust in
-- src/budget/model.rs.

local MOST, MOST_RATE, WINDOW, LONGEST, FLOOR = 1000000000000000, 1000000000, 10000, 1000000000, 5
local BUCKET_TTL, RECORD_TTL = 3600000, 60000

local function integer(text, low, high)
  if type(text) ~= 'string' or #text > 17 or not string.find(text, '^%-?%d+$') then return nil end
  local number = tonumber(text)
  if number < low or number > high then return nil end
  return number
end

local function div(a, b) return (a - math.fmod(a, b)) / b end

local function digits(number) return string.format('%.0f', number) end

local function failed(reply) return type(reply) == 'table' and reply.err end

local low = { 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, -1 }
local argument = {}
for place = 1, 14 do
  argument[place] = integer(ARGV[place], low[place], MOST)
  if not argument[place] then return redis.error_reply('ERR argument ' .. place .. ' of the budget') end
end
local capacity, initial, growth_ms, per_second, per_success, min_per_second, unit, seq, successes, successes_acked,
  taken, taken_acked, want, known = unpack(argument)
per_second, min_per_second = math.min(per_second, 1000000000000), math.min(min_per_second, 1000000000000)

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + div(tonumber(time[2]), 1000)

-- 1. The stored state; a field that no step has written makes the whole key absent.
local fields = redis.pcall('HMGET', KEYS[1], 't', 'r', 'e', 'q', 'at', 'w', 'p', 'c')
if failed(fields) then return fields end
local tokens, rate = integer(fields[1], -MOST, MOST), integer(fields[2], 0, MOST_RATE)
local rest, quiet, at = integer(fields[3], 0, 999), integer(fields[4], 0, LONGEST), integer(fields[5], 0, MOST)
local window, before = integer(fields[6], 0, MOST), integer(fields[7], 0, MOST_RATE)
local current, flag = integer(fields[8], 0, MOST_RATE), 0
if not (tokens and rate and rest and quiet and at and window and before and current) then
  tokens = initial
  if known >= 0 then tokens = math.min(initial, known) end
  rate, rest, quiet, at, window, before, current, flag = 0, 0, 0, now, 0, 0, 0, 2
end

local text = redis.pcall('GET', KEYS[2])
if failed(text) then return text end
local last_seq, last_successes, last_taken, last_window
if type(text) == 'string' and #text <= 80 then
  local a, b, c, d = string.match(text, '^(%d+):(%d+):(%d+):(%d+)$')
  last_seq, last_successes = integer(a, 0, MOST), integer(b, 0, MOST)
  last_taken, last_window = integer(c, 0, 4 * MOST), integer(d, 0, MOST)
end
if not (last_seq and last_successes and last_taken and last_window) then
  last_seq, last_successes, last_taken, last_window = -1, successes_acked, taken_acked, -1
end

local function grown() return math.max(capacity, math.min(MOST, rate * growth_ms)) end

-- 2. A repetition changes nothing.
if seq <= last_seq then return { 0, tokens, grown(), math.max(before, current), now, 1 } end

-- 3. A clock that was set back starts anew; one that jitters stands still.
if at - now > WINDOW then at = now end
local elapsed = math.max(0, math.min(now - at, LONGEST))
at = math.max(at, now)
local new = math.max(0, math.min(successes - last_successes, LONGEST))

-- 4. The rate in successes per 1,000 s, and the capacity that grows with it.
rate = math.min(MOST_RATE, div(rate * WINDOW + new * 1000000, WINDOW + elapsed))
local most = grown()

-- 5. The earnings.
local earned = math.min(MOST, new * per_success)
if per_second > 0 then
  local seconds = math.min(div(elapsed, 1000), div(MOST, per_second))
  local part = math.fmod(elapsed, 1000) * per_second + rest
  earned = math.min(MOST, earned + seconds * per_second + div(part, 1000))
  rest = math.fmod(part, 1000)
end

-- Rare successes fill the bucket to a few retries.
quiet = math.min(LONGEST, quiet + elapsed)
if new > 0 and per_success > 0 then
  local seconds = 0
  if min_per_second > 0 then seconds = math.min(div(quiet, 1000), div(MOST, min_per_second)) end
  local least = seconds * min_per_second + div(math.fmod(quiet, 1000) * min_per_second, 1000)
  earned = earned + math.max(0, math.min(least, math.min(MOST, FLOOR * unit) - tokens - earned))
  quiet = 0
end

-- 6. Amounts taken without the store are charged; grants whose reply was lost come back.
tokens = math.max(-most, math.min(most, tokens + earned - (taken - last_taken)))

-- 7. The grant.
local granted = 0
if tokens > 0 then granted = math.min(want, tokens - math.fmod(tokens, unit)) end
tokens = tokens - granted

-- 8. Processes: each counts once in a window.
local this = div(now, WINDOW)
if this > window or this < window - 1 then
  before = (this == window + 1) and current or 0
  window, current = this, 0
end
if last_window ~= window then current = math.min(current + 1, MOST_RATE) end

-- The record first: if the bucket cannot be written after it, tokens are lost and none made.
local kept = digits(seq) .. ':' .. digits(successes) .. ':' .. digits(taken + granted) .. ':' .. digits(window)
local wrote = redis.pcall('SET', KEYS[2], kept, 'PX', RECORD_TTL)
if failed(wrote) then return wrote end
wrote = redis.pcall('HSET', KEYS[1], 't', digits(tokens), 'r', digits(rate), 'e', digits(rest), 'q', digits(quiet), 'at', digits(at),
  'w', digits(window), 'p', digits(before), 'c', digits(current))
if failed(wrote) then return wrote end
redis.call('PEXPIRE', KEYS[1], BUCKET_TTL)
return { granted, tokens, most, math.max(before, current), now, flag }
