-- Recorded requests in turn. BENCH_INPUT names a file with, for each request, a line with the path, a line "Name:
-- value" per
-- header field, and an empty line.
package.path = os.getenv("BENCH_LUA") .. "/?.lua;" .. package.path
require("report")

local requests = {}
function init()
    local path, headers = nil, {}
    for line in io.lines(os.getenv("BENCH_INPUT")) do
        if line == "" then
            requests[#requests + 1] = wrk.format("GET", path, headers)
            path, headers = nil, {}
        elseif path == nil then
            path = line
        else
            local name, value = line:match("^([^:]+): (.*)$")
            headers[name] = value
        end
    end
end

local sent = 0
function request()
    sent = sent + 1
    return requests[sent % #requests + 1]
end
