# One line a verb; CI calls the same, but for compose. CONFIGURATION=release tests what `make up` runs.
SHELL := /bin/bash -euo pipefail
CONFIGURATION ?= debug
SWIFT_FORMAT ?= $(or $(shell command -v swift-format),swift format)
SOURCES := Package.swift Services Shared Tests bench/SocketLoad bench/PushLoad bench/ImageLoad
SOURCES += Fuzz/Package.swift Fuzz/Main $(wildcard Fuzz/Sources/*/Stubs.swift)
BUILT = .build/$(CONFIGURATION)
# docs/decisions/0007: the same for what runs and for its tests, so that dependencies are built once for both.
FLAGS_release := -Xswiftc -enforce-exclusivity=unchecked
# An index store is of use to editors alone, and takes 45 % of the compiler's time in a debug build.
FLAGS_debug := --disable-index-store
# The program of the tests itself: `swift test` would plan the package again for each phase, and look for XCTest classes.
export NO_COLOR = 1
TEST = $(BUILT)/roost with-postgres -- $(BUILT)/RoostPackageTests.xctest --testing-library swift-testing
# Of hundreds of tests at once each would wait for all the others, and what holds limits in time would measure that.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 4

# What a test needs of the code's own modules in a release build; dependencies are built once for both.
build test soak: export ENABLE_TESTING := $(filter release,$(CONFIGURATION))
ifdef CI
export WARNINGS_AS_ERRORS := 1
endif

.PHONY: up test fuzz sanitize recorded vectors clients build lint format bench storm crashes soak doctor
.PHONY: check-monitoring compose programs dependencies

up: programs ; exec .build/release/roost up

test: lint build clients ; scripts/test-phases $(TEST)

build: dependencies ; swift build -c $(CONFIGURATION) $(FLAGS_$(CONFIGURATION)) --build-tests --explicit-target-dependency-import-check error

lint: ; $(SWIFT_FORMAT) lint --strict --recursive $(SOURCES) && scripts/check-imports && scripts/check-locks && scripts/check-streams && scripts/check-settings && scripts/check-errors

format: ; $(SWIFT_FORMAT) format --in-place --recursive $(SOURCES)

bench: programs
	swift build -c release $(FLAGS_release)
	bench/run $(ARGUMENTS)

# Clients that are killed, over and over: `make storm STORM_SECONDS=600`.
storm: ; $(MAKE) bench ARGUMENTS=storms

# Each service traps ten times under load: how soon requests are answered again, and that nothing acknowledged is lost.
crashes: programs ; python3 -m bench.crashes $(ARGUMENTS)

# One at a time: what is felt within a second has the machine's cores for itself.
soak: export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH = 1
soak: build ; SOAK=1 $(TEST) --parallel --filter '^SuiteTests\.'

# Holds what reads networks to what their real servers once answered, as the tests of their clients on PyPI recorded it.
recorded: build
	RECORDED=$$(scripts/recorded-responses) $(BUILT)/RoostPackageTests.xctest --testing-library swift-testing --filter '^SocialTests\.Recorded'

# Holds what reads tokens and keys to Wycheproof's vectors: WYCHEPROOF is a clone of github.com/C2SP/wycheproof.
vectors: build
	test -d "$(WYCHEPROOF)/testvectors_v1"
	$(TEST) --filter '\.WycheproofTests'

# Each parser of outside bytes under libFuzzer, for SECONDS in all or, with TARGET, that one; `make test` replays the corpus.
SECONDS ?= 60
fuzz: dependencies ; scripts/fuzz $(SECONDS) $(TARGET)

# The unit tests of Shared/ under thread sanitizer and address sanitizer; TESTS chooses some: TESTS=WireTests.
sanitize: dependencies clients ; scripts/sanitize $(TESTS)

doctor: programs ; .build/release/roost doctor

check-monitoring: dependencies ; scripts/check-monitoring

# Tries docker-compose.yml for real; COMPOSE says with what, if not `docker compose` or podman-compose.
compose: ; scripts/test-compose

# One build for all programs: each further `swift build` would plan the package again, some ten seconds.
programs: dependencies ; PROGRAMS_ONLY=1 swift build -c release $(FLAGS_release)

# The Socket.IO and tus clients that tests connect with, what judges pushes, a store of files that speaks S3, a browser.
clients: ; scripts/install-dependencies browser && scripts/python-clients

dependencies: ; scripts/install-dependencies
