-- Repeated GETs of the URL.
package.path = os.getenv("BENCH_LUA") .. "/?.lua;" .. package.path
require("report")
