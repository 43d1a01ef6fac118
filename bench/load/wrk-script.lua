-- POST /plants with a new id in each request or, if BENCH_READS names a file, GETs of random paths from that file.
-- BENCH_NAMES names a file of the kinds and streets that names are made of.
-- Each thread counts its answers by outcome; done() prints the sums as JSON.

local bit = require('bit')
local ffi = require('ffi')

local run = tonumber(os.getenv('BENCH_RUN'))
local reads = os.getenv('BENCH_READS')
local threads = {}

function setup(thread)
  thread:set('number', #threads)
  table.insert(threads, thread)
end

function done(summary, latency)
  local sums = {}
  for _, thread in ipairs(threads) do
    for outcome, count in pairs(thread:get('outcomes')) do
      sums[outcome] = (sums[outcome] or 0) + count
    end
  end
  local counts = {}
  for outcome, count in pairs(sums) do
    table.insert(counts, string.format('"%s":%d', outcome, count))
  end
  local errors = summary.errors
  print(string.format(
    'RESULT {"outcomes":{%s},"socketErrors":%d,"seconds":%.6f,"p50":%.4f,"p99":%.4f}',
    table.concat(counts, ','), errors.connect + errors.read + errors.write + errors.timeout,
    summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3
  ))
end

outcomes = {}

local function count(outcome)
  outcomes[outcome] = (outcomes[outcome] or 0) + 1
end

local function headers()
  return ' HTTP/1.1\r\nHost: ' .. wrk.host .. ':' .. wrk.port
    .. '\r\nAuthorization: Bearer ' .. os.getenv('BENCH_TOKEN') .. '\r\n'
end

if reads == '' then
  local counter, head
  local kinds, tags, streets = {}, {}, {}

  function init()
    for line in io.lines(os.getenv('BENCH_NAMES')) do
      local kind, tag = line:match('^(.+)\t(.+)$')
      table.insert(kind and kinds or streets, kind or line)
      table.insert(tags, tag)
    end
    -- 24 bits of run, 4 of thread, 36 of request: no number repeats.
    counter = ffi.cast('uint64_t', run) * 0x10000000000ULL + ffi.cast('uint64_t', number) * 0x1000000000ULL
    head = 'POST ' .. wrk.path .. headers() .. 'Content-Type: application/json\r\nContent-Length: '
  end

  -- The finalizer of splitmix64, a bijection on 64-bit numbers: unique numbers become unique ids.
  local function mix(n)
    n = bit.bxor(n, bit.rshift(n, 30)) * 0xBF58476D1CE4E5B9ULL
    n = bit.bxor(n, bit.rshift(n, 27)) * 0x94D049BB133111EBULL
    return bit.bxor(n, bit.rshift(n, 31))
  end

  local function read(n, shift, bits)
    return tonumber(bit.band(bit.rshift(n, shift), bit.lshift(1, bits) - 1))
  end

  local function letter(n, shift)
    return 97 + read(n, shift, 7) % 26
  end

  -- The name and tag of an id, as in plants/plant-names.ts.
  local function describe(id)
    local kind = read(id, 0, 16) % #kinds + 1
    local letters = string.char(letter(id, 34), letter(id, 41), letter(id, 48), letter(id, 55))
    return '"name":"' .. kinds[kind] .. ' ' .. read(id, 21, 13) .. ' ' .. streets[read(id, 16, 5) + 1] .. ' '
      .. letters .. '","tag":"' .. tags[kind] .. '"'
  end

  function request()
    counter = counter + 1
    local id = mix(counter)
    local body = '{"id":' .. tostring(ffi.cast('int64_t', id)):sub(1, -3) .. ',' .. describe(id) .. '}'
    return head .. #body .. '\r\n\r\n' .. body
  end

  function response(status)
    count(status)
  end

  return
end

-- Lines of `path firstId lastId`. wrk does not tell which connection an answer belongs to, so the first and last id of
-- an answer must match any request of this thread that waits for its answer.
local paths, expected, waiting = {}, {}, {}
local head

function init()
  math.randomseed(run * 16 + number)
  for line in io.lines(reads) do
    local path, ids = line:match('^(%S+) (.+)$')
    table.insert(paths, path)
    table.insert(expected, ids)
  end
  head = headers() .. '\r\n'
end

function request()
  local index = math.random(#paths)
  local ids = expected[index]
  waiting[ids] = (waiting[ids] or 0) + 1
  return 'GET ' .. paths[index] .. head
end

-- An id is a number, or a string if the server's JSON has no int64.
local function firstAndLastId(body)
  local first = body:match('"id":"?(-?%d+)')
  -- Searches only the end of a long body, as searching all of it would take CPU from the server.
  return first and first .. ' ' .. (body:sub(-500):match('^.*"id":"?(-?%d+)') or body:match('^.*"id":"?(-?%d+)'))
end

function response(status, _, body)
  if status ~= 200 then
    count(status)
    return
  end
  local ids = firstAndLastId(body)
  if ids and waiting[ids] then
    waiting[ids] = waiting[ids] > 1 and waiting[ids] - 1 or nil
    count(200)
  else
    count('a wrong body')
  end
end
