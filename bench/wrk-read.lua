-- GET of paths at random, from a file of lines `path firstId lastId`. An answer's first and last id must be those of
-- a request of this thread that waits for its answer; wrk does not tell on which connection an answer comes.

dofile(os.getenv('BENCH_FOLDER') .. '/wrk-count.lua')

function init()
  math.randomseed(tonumber(os.getenv('BENCH_RUN')) * 16 + number)
  paths, expected, waiting = {}, {}, {}
  for line in io.lines(os.getenv('BENCH_READS')) do
    local path, ids = line:match('^(%S+) (.+)$')
    table.insert(paths, path)
    table.insert(expected, ids)
  end
  head = ' HTTP/1.1\r\nHost: ' .. wrk.host .. ':' .. wrk.port
    .. '\r\nAuthorization: Bearer ' .. os.getenv('BENCH_TOKEN') .. '\r\n\r\n'
end

function request()
  local index = math.random(#paths)
  local ids = expected[index]
  waiting[ids] = (waiting[ids] or 0) + 1
  return 'GET ' .. paths[index] .. head
end

-- An id is a number, or text where the server's JSON knows no int64.
local function idsOf(body)
  local first = body:match('"id":"?(-?%d+)')
  -- From the end of a long body, as going through all of it takes the CPU from the server.
  return first and first .. ' ' .. (body:sub(-500):match('^.*"id":"?(-?%d+)') or body:match('^.*"id":"?(-?%d+)'))
end

function response(status, _, body)
  if status ~= 200 then
    count(status)
    return
  end
  local ids = idsOf(body)
  if ids and waiting[ids] then
    waiting[ids] = waiting[ids] > 1 and waiting[ids] - 1 or nil
    count(200)
  else
    count('a wrong body')
  end
end
