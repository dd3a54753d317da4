-- Refreshes a session repeatedly, each time with the token of the previous response. For one connection.
package.path = os.getenv("BENCH_LUA") .. "/?.lua;" .. package.path
require("report")
wrk.headers["Content-Type"] = "application/json"
local token = os.getenv("BENCH_TOKEN")

function request()
    return wrk.format("POST", nil, nil, '{"refreshToken": "' .. token .. '"}')
end

function response(status, headers, body)
    token = body:match('"refreshToken"%s*:%s*"([^"]+)"') or token
end
