import AsyncHTTPClient
import AuthAPI
import Foundation
import NIOCore
import ServiceClient
import Testing
import Wire

/// Login attempts must not reveal which names exist.
extension SuiteTests {
    @Suite("Login timing") struct LoginTimingTests {
        private static let settings = [
            "RATE_USER": "0", "RATE_ADDRESS": "0", "RATE_REGISTER": "0", "LOGIN_FAILURES": "0",
            "LOGIN_FAILURES_PER_ADDRESS_MAX": "0", "LOGINS_PER_MINUTE": "0",
        ]
        /// The number of logins of each kind, which is large enough to compare times only in `make soak`.
        private static let logins = SuiteTests.isSoak ? 1_000 : 5

        @Test("A login with a wrong password costs the same with and without an account")
        func cost() async throws {
            try await RunningSuite.with(settings: Self.settings) { suite in
                _ = try await suite.person("ana")
                var (known, unknown) = (LoginCost(), LoginCost())
                // The kinds alternate, so that other load on the machine slows both.
                for number in 0..<Self.logins {
                    try await known.log(in: "ana", at: suite)
                    try await unknown.log(in: "nobody-\(number)", at: suite)
                }

                #expect(known.hashes == Self.logins)
                #expect(unknown.hashes == Self.logins)
                guard SuiteTests.isSoak else { return }
                print("logins: \(known.median) with an account, \(unknown.median) without")
                #expect((0.95...1.05).contains(known.median / unknown.median), "\(known.median) and \(unknown.median)")
            }
        }

        /// The cost of logins with a wrong password.
        private struct LoginCost {
            var hashes = 0
            var times: [Duration] = []
            var median: Duration { times.sorted()[times.count / 2] }

            mutating func log(in name: String, at suite: RunningSuite) async throws {
                let before = try await Self.hashes(of: suite)
                let start = ContinuousClock.now
                do {
                    let _: SignIn = try await suite.client(port: suite.authPort, jwt: nil)
                        .post("/auth/login", LoginDraft(username: name, password: "not the password"))
                    Issue.record("\(name) signed in with a wrong password")
                } catch let error as APIError where error.code == "invalid_login" {
                    times.append(start.duration(to: .now))
                }
                hashes += try await Self.hashes(of: suite) - before
            }

            private static func hashes(of suite: RunningSuite) async throws -> Int {
                let request = HTTPClientRequest(url: "http://127.0.0.1:\(suite.authPort)/metrics")
                let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
                let text = String(buffer: try await response.body.collect(upTo: 1 << 20))
                let line = text.split(separator: "\n").first { $0.hasPrefix("roost_auth_password_hashes_total ") }
                return line.flatMap { Double($0.split(separator: " ").last ?? "") }.map { Int($0) } ?? 0
            }
        }
    }
}
