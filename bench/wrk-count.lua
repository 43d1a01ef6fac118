-- What both loads share: each thread has a number and counts its answers by outcome, done() prints the sums.

local threads = {}

function setup(thread)
  thread:set('number', #threads)
  table.insert(threads, thread)
end

outcomes = {}

function count(outcome)
  outcomes[outcome] = (outcomes[outcome] or 0) + 1
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
