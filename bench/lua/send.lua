-- Messages from many senders to one or many conversations, each with its own clientMessageId.
-- BENCH_INPUT names a file with the tokens of the conversations in the first line and the senders' jwts in the second.
package.path = os.getenv("BENCH_LUA") .. "/?.lua;" .. package.path
require("report")

local function words(line)
    local found = {}
    for word in line:gmatch("%S+") do found[#found + 1] = word end
    return found
end

local input = assert(io.open(os.getenv("BENCH_INPUT")))
local conversations, senders = words(input:read("*l")), words(input:read("*l"))
input:close()

local run = os.getenv("BENCH_RUN")
local headers = {}
for index, jwt in ipairs(senders) do
    headers[index] = { ["Authorization"] = "Bearer " .. jwt, ["Content-Type"] = "application/json" }
end

local sent = 0
function request()
    sent = sent + 1
    -- The stride shares no divisor with 1,000, so every conversation is visited before one is repeated.
    local conversation = conversations[(sent * 617) % #conversations + 1]
    local body = '{"data":"The quick brown fox jumps over the lazy dog, number ' .. sent ..
        '","clientMessageId":"' .. run .. "-" .. sent .. '"}'
    return wrk.format("POST", "/conversations/" .. conversation .. "/messages", headers[sent % #senders + 1], body)
end
