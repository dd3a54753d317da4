-- Repeated POSTs of the same JSON body.
package.path = os.getenv("BENCH_LUA") .. "/?.lua;" .. package.path
require("report")
wrk.method = "POST"
wrk.body = os.getenv("BENCH_BODY")
wrk.headers["Content-Type"] = "application/json"
