-- POST /plants with a new id in each request or, if BENCH_METHOD is GET, requests of random paths. BENCH_LINES names a file
-- of the paths, or of what follows the id in a body. If BENCH_KEYS is not empty, each request has an Idempotency-Key. Each thread counts its answers by status; done() prints the sums.

local bit = require('bit')
local ffi = require('ffi')

local run = tonumber(os.getenv('BENCH_RUN'))
local threads = {}
local lines = {}
local counter, head
local withKeys = os.getenv('BENCH_KEYS') ~= ''

statuses = {}

function setup(thread)
  thread:set('number', #threads)
  table.insert(threads, thread)
end

function init()
  math.randomseed(run * 16 + number)
  for line in io.lines(os.getenv('BENCH_LINES')) do
    table.insert(lines, line)
  end
  -- 24 bits of run, 4 of thread, 36 of request: no number repeats.
  counter = ffi.cast('uint64_t', run) * 0x10000000000ULL + ffi.cast('uint64_t', number) * 0x1000000000ULL
  head = ' HTTP/1.1\r\nHost: ' .. wrk.host .. ':' .. wrk.port
    .. '\r\nAuthorization: Bearer ' .. os.getenv('BENCH_TOKEN') .. '\r\n'
end

-- The finalizer of splitmix64, a bijection on 64-bit numbers: unique numbers become unique ids.
local function mix(n)
  n = bit.bxor(n, bit.rshift(n, 30)) * 0xBF58476D1CE4E5B9ULL
  n = bit.bxor(n, bit.rshift(n, 27)) * 0x94D049BB133111EBULL
  return bit.bxor(n, bit.rshift(n, 31))
end

local function post(line)
  counter = counter + 1
  local id = tostring(ffi.cast('int64_t', mix(counter))):sub(1, -3)
  local body = '{"id":' .. id .. ',' .. line
  local key = withKeys and 'Idempotency-Key: "' .. id .. '-9ba4-4dd7-8d3e"\r\n' or ''
  return 'POST ' .. wrk.path .. head .. key .. 'Content-Type: application/json\r\nContent-Length: ' .. #body .. '\r\n\r\n' .. body
end

local function get(line)
  return 'GET ' .. line .. head .. '\r\n'
end

local build = os.getenv('BENCH_METHOD') == 'GET' and get or post

function request()
  return build(lines[math.random(#lines)])
end

function response(status)
  statuses[status] = (statuses[status] or 0) + 1
end

function done(summary, latency)
  local ok, others = 0, 0
  for _, thread in ipairs(threads) do
    for status, count in pairs(thread:get('statuses')) do
      if status == 200 then ok = ok + count else others = others + count end
    end
  end
  local errors = summary.errors
  local unanswered = errors.connect + errors.read + errors.write + errors.timeout
  print(string.format(
    'RESULT {"ok":%d,"notOk":%d,"seconds":%.6f,"p50":%.4f,"p99":%.4f}',
    ok, others + unanswered, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3
  ))
end
