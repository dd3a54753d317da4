-- The URL itself, again and again.
package.path = os.getenv("BENCH_LUA") .. "/?.lua;" .. package.path
require("report")
