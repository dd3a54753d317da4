# CI runs the same targets, except compose. CONFIGURATION=release tests the build that `make up` runs.
SHELL := /bin/bash -euo pipefail
CONFIGURATION ?= debug
SWIFT_FORMAT ?= $(or $(shell command -v swift-format),swift format)
# The sources that `make lint` and `make format` cover.
SOURCES := Package.swift Services Shared Tests bench/SocketLoad bench/PushLoad bench/ImageLoad
SOURCES += Fuzz/Package.swift Fuzz/Main $(wildcard Fuzz/Sources/*/Stubs.swift)
BUILT = .build/$(CONFIGURATION)
# The same flags for programs and tests, so that dependencies are built once for both (docs/decisions/0007).
FLAGS_release := -Xswiftc -enforce-exclusivity=unchecked
# Only editors use the index store, and it takes 45 % of the compiler's time in a debug build.
FLAGS_debug := --disable-index-store
# The test program itself. `swift test` would plan the package again for each phase and search for XCTest classes.
export NO_COLOR = 1
TEST = $(BUILT)/roost with-postgres -- $(BUILT)/RoostPackageTests.xctest --testing-library swift-testing
# With hundreds of concurrent tests, each would wait for the others, and tests of time limits would measure that.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 4

# Tests import modules with @testable, also in a release build. Dependencies are built once for both.
build test soak: export ENABLE_TESTING := $(filter release,$(CONFIGURATION))
ifdef CI
export WARNINGS_AS_ERRORS := 1
endif

.PHONY: up test fuzz sanitize recorded vectors clients build lint format bench storm crashes soak doctor
.PHONY: check-monitoring compose programs dependencies

up: programs ; exec .build/release/roost up

test: lint build clients ; scripts/test-phases $(TEST)

build: dependencies ; swift build -c $(CONFIGURATION) $(FLAGS_$(CONFIGURATION)) --build-tests --explicit-target-dependency-import-check error

CHECKS = imports locks streams settings errors prose
lint: ; $(SWIFT_FORMAT) lint --strict --recursive $(SOURCES) && for check in $(CHECKS); do scripts/check-$$check; done

format: ; $(SWIFT_FORMAT) format --in-place --recursive $(SOURCES)

bench: programs
	swift build -c release $(FLAGS_release)
	bench/run $(ARGUMENTS)

# Kills clients repeatedly under load: `make storm STORM_SECONDS=600`.
storm: ; $(MAKE) bench ARGUMENTS=storms

# Makes each service trap ten times under load. Measures recovery, and checks that nothing acknowledged is lost.
crashes: programs ; python3 -m bench.crashes $(ARGUMENTS)

# One test at a time, so that a test of times below a second has all cores.
soak: export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH = 1
soak: build ; SOAK=1 $(TEST) --parallel --filter '^SuiteTests\.'

# Tests the network connectors with responses of the real servers, as recorded in the tests of their clients on PyPI.
recorded: build
	RECORDED=$$(scripts/recorded-responses) $(BUILT)/RoostPackageTests.xctest --testing-library swift-testing --filter '^SocialTests\.Recorded'

# Tests tokens and keys with Wycheproof's vectors. WYCHEPROOF is a clone of github.com/C2SP/wycheproof.
vectors: build
	test -d "$(WYCHEPROOF)/testvectors_v1"
	$(TEST) --filter '\.WycheproofTests'

# Runs each parser of external input under libFuzzer, for SECONDS in all, or one TARGET. `make test` replays the corpus.
SECONDS ?= 60
fuzz: dependencies ; scripts/fuzz $(SECONDS) $(TARGET)

# Runs the unit tests of Shared/ under thread sanitizer and address sanitizer. TESTS=WireTests selects one target.
sanitize: dependencies clients ; scripts/sanitize $(TESTS)

doctor: programs ; .build/release/roost doctor

check-monitoring: dependencies ; scripts/check-monitoring

# Tests docker-compose.yml with real containers. COMPOSE names the program, if not `docker compose` or podman-compose.
compose: ; scripts/test-compose

# One build for all programs, because each `swift build` plans the package again, which takes ten seconds.
programs: dependencies ; PROGRAMS_ONLY=1 swift build -c release $(FLAGS_release)

# Installs what tests use: Socket.IO and tus clients, validators of notifications, an S3 store and a browser.
clients: ; scripts/install-dependencies browser && scripts/python-clients

dependencies: ; scripts/install-dependencies
