-- GETs of the URL by many users in turn. BENCH_INPUT names a file with their jwts.
package.path = os.getenv("BENCH_LUA") .. "/?.lua;" .. package.path
require("report")

local requests = {}
function init()
    local input = assert(io.open(os.getenv("BENCH_INPUT")))
    for jwt in input:read("*a"):gmatch("%S+") do
        requests[#requests + 1] = wrk.format("GET", nil, { ["Authorization"] = "Bearer " .. jwt })
    end
    input:close()
end

local sent = 0
function request()
    sent = sent + 1
    return requests[sent % #requests + 1]
end
