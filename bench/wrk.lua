-- POST /plants with a fresh id in each request. Each thread counts its answers by status, done() prints the sums.

local bit = require('bit')
local ffi = require('ffi')

local threads = {}

function setup(thread)
  thread:set('number', #threads)
  table.insert(threads, thread)
end

function init()
  statuses = {}
  -- 24 bits of run, 4 of thread, 36 of request: no number comes twice.
  counter = ffi.cast('uint64_t', tonumber(os.getenv('BENCH_RUN'))) * 0x10000000000ULL
    + ffi.cast('uint64_t', number) * 0x1000000000ULL
  head = 'POST ' .. wrk.path .. ' HTTP/1.1\r\nHost: ' .. wrk.host .. ':' .. wrk.port
    .. '\r\nContent-Type: application/json\r\nAuthorization: Bearer ' .. os.getenv('BENCH_TOKEN')
    .. '\r\nContent-Length: '
end

-- The finalizer of splitmix64: it maps 64-bit numbers one to one, so that what goes in unique comes out unique.
local function mix(n)
  n = bit.bxor(n, bit.rshift(n, 30)) * 0xBF58476D1CE4E5B9ULL
  n = bit.bxor(n, bit.rshift(n, 27)) * 0x94D049BB133111EBULL
  return bit.bxor(n, bit.rshift(n, 31))
end

function request()
  counter = counter + 1
  local id = tostring(ffi.cast('int64_t', mix(counter))):sub(1, -3)
  local body = '{"id":' .. id .. ',"name":"Monstera deliciosa","tag":"indoor"}'
  return head .. #body .. '\r\n\r\n' .. body
end

function response(status)
  statuses[status] = (statuses[status] or 0) + 1
end

function done(summary, latency)
  local sums = {}
  for _, thread in ipairs(threads) do
    for status, count in pairs(thread:get('statuses')) do
      sums[status] = (sums[status] or 0) + count
    end
  end
  local counts = {}
  for status, count in pairs(sums) do
    table.insert(counts, string.format('"%d":%d', status, count))
  end
  local errors = summary.errors
  print(string.format(
    'RESULT {"statuses":{%s},"socketErrors":%d,"seconds":%.6f,"p50":%.4f,"p99":%.4f}',
    table.concat(counts, ','), errors.connect + errors.read + errors.write + errors.timeout,
    summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3
  ))
end
