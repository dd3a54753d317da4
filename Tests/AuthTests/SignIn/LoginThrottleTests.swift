import Foundation
import HTTPTypes
import TestSupport
import Testing
import Wire

@Suite("Login throttle") struct LoginThrottleTests {
    private let wrong = "not the password"

    @Test("Ten failures block a name for 15 minutes, in every spelling, whether it exists or not")
    func failureLimit() async throws {
        let clock = TestClock()
        try await withAuth(clock: clock) { auth in
            for name in ["ada", "unknown user"] {
                if name == "ada" { _ = try await auth.register(name) }
                for _ in 0..<10 { #expect(try await auth.login(name, password: wrong).status == 401) }
                clock.advance(seconds: 60)

                // An existing and an unknown name behave the same, in every spelling.
                for spelling in [name, name.uppercased()] {
                    let refused = try await auth.login(spelling)
                    #expect(refused.status == 429)
                    #expect(refused.problem?.code == "too_many_login_failures")
                    #expect(refused.headers[.retryAfter] == "840")
                }
                clock.advance(seconds: 900)
            }
            #expect(try await auth.login("ada").status == 200)
        }
    }

    @Test("A successful login resets the count of failures")
    func successResetsFailures() async throws {
        try await withAuth(settings: ["LOGIN_FAILURES": "3"]) { auth in
            _ = try await auth.register("ada")
            for _ in 0..<3 {
                for _ in 0..<2 { #expect(try await auth.login("ada", password: wrong).status == 401) }
                #expect(try await auth.login("ada").status == 200)
            }
        }
    }

    @Test("Failures of one account do not block another")
    func separateAccounts() async throws {
        try await withAuth(settings: ["LOGIN_FAILURES": "2"]) { auth in
            _ = try await auth.register("ada")
            _ = try await auth.register("bo")
            for _ in 0..<3 { _ = try await auth.login("ada", password: wrong) }
            #expect(try await auth.login("ada").status == 429)
            #expect(try await auth.login("bo").status == 200)
        }
    }

    @Test("Failures of one address block it for every account")
    func addressLimit() async throws {
        let settings = ["LOGIN_FAILURES": "10", "LOGIN_FAILURES_PER_ADDRESS_MAX": "4"]
        try await withAuth(settings: settings) { auth in
            _ = try await auth.register("ada")
            for number in 0..<4 {
                let answer = try await auth.login("name \(number)", password: wrong, address: "203.0.113.7")
                #expect(answer.status == 401)
            }
            #expect(try await auth.login("ada", address: "203.0.113.7").status == 429)
            #expect(try await auth.login("ada", address: "203.0.113.8").status == 200)
            // The login from another address does not unblock this one.
            #expect(try await auth.login("ada", address: "203.0.113.7").status == 429)
        }
    }

    @Test("An IPv6 /64 counts as one address")
    func ipv6Network() async throws {
        try await withAuth(settings: ["LOGIN_FAILURES_PER_ADDRESS_MAX": "2"]) { auth in
            _ = try await auth.register("ada")
            for host in ["1", "2"] {
                _ = try await auth.login("nobody", password: wrong, address: "2001:db8:0:1::\(host)")
            }
            #expect(try await auth.login("ada", address: "2001:db8:0:1::3").status == 429)
            #expect(try await auth.login("ada", address: "2001:db8:0:2::1").status == 200)
        }
    }

    @Test("Only the address that the trusted proxy added counts")
    func forwardedAddress() async throws {
        try await withAuth(settings: ["LOGIN_FAILURES_PER_ADDRESS_MAX": "2"]) { auth in
            for made in ["198.51.100.1", "198.51.100.2"] {
                _ = try await auth.login("nobody", password: wrong, address: "\(made), 203.0.113.7")
            }
            let answer = try await auth.login("nobody", password: wrong, address: "198.51.100.3, 203.0.113.7")
            #expect(answer.status == 429)
        }
    }

    @Test("A known device signs in while other clients' failures block the account")
    func knownDevice() async throws {
        let settings = ["LOGIN_FAILURES": "3", "LOGIN_FAILURES_PER_ADDRESS_MAX": "5"]
        try await withAuth(settings: settings) { auth in
            _ = try await auth.register("ada")
            #expect(try await auth.login("ada", device: "own phone", address: "203.0.113.7").status == 200)
            for _ in 0..<6 { _ = try await auth.login("ada", password: wrong, address: "198.51.100.1") }
            #expect(try await auth.login("ada", address: "203.0.113.7").status == 429)
            #expect(try await auth.login("ada", device: "another phone", address: "203.0.113.7").status == 429)

            #expect(try await auth.login("ada", device: "own phone", address: "203.0.113.7").status == 200)

            // The known device has its own limit of failures.
            for _ in 0..<3 {
                let answer = try await auth.login("ada", password: wrong, device: "own phone", address: "203.0.113.7")
                #expect(answer.status == 401)
            }
            #expect(try await auth.login("ada", device: "own phone", address: "203.0.113.7").status == 429)
        }
    }

    @Test("Concurrent attempts cannot exceed the limit")
    func concurrentAttempts() async throws {
        try await withAuth(settings: ["LOGIN_FAILURES": "5", "HASHING_THREADS": "2"]) { auth in
            _ = try await auth.register("ada")
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 { group.addTask { try await auth.login("ada", password: wrong).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.filter { $0 == 401 }.count == 5)
            #expect(statuses.filter { $0 == 429 }.count == 15)
        }
    }

    @Test("Two instances share the count")
    func twoInstances() async throws {
        try await withTwoAuths(settings: ["LOGIN_FAILURES": "4"]) { first, second in
            _ = try await first.register("ada")
            for auth in [first, second, first, second] {
                #expect(try await auth.login("ada", password: wrong).status == 401)
            }
            #expect(try await first.login("ada").status == 429)
            #expect(try await second.login("ada").status == 429)
        }
    }

    @Test("A limit of 0 turns the throttle off")
    func noLimit() async throws {
        try await withAuth(settings: ["LOGIN_FAILURES": "0", "LOGIN_FAILURES_PER_ADDRESS_MAX": "0"]) { auth in
            _ = try await auth.register("ada")
            for _ in 0..<12 { #expect(try await auth.login("ada", password: wrong).status == 401) }
            #expect(try await auth.login("ada").status == 200)
        }
    }
}
