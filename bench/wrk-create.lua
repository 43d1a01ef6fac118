-- POST /plants with a fresh id in each request.

local bit = require('bit')
local ffi = require('ffi')

dofile(os.getenv('BENCH_FOLDER') .. '/wrk-count.lua')

function init()
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
  count(status)
end
