import AsyncHTTPClient
import AuthAPI
import Foundation
import NIOCore
import ServiceClient
import Testing
import Wire

/// What somebody learns who tries names: nothing, since the same is done for those that there are and those that are not.
extension SuiteTests {
    @Suite struct LoginTimingTests {
        private static let settings = [
            "RATE_USER": "0", "RATE_ADDRESS": "0", "RATE_REGISTER": "0", "LOGIN_FAILURES": "0",
            "LOGIN_FAILURES_PER_ADDRESS_MAX": "0", "LOGINS_PER_MINUTE": "0",
        ]
        /// Logins of each kind; only `make soak` has so many that their times say something.
        private static let logins = SuiteTests.isSoak ? 1_000 : 5

        @Test func equalLoginCost() async throws {
            try await RunningSuite.with(settings: Self.settings) { suite in
                _ = try await suite.person("ana")
                var (known, unknown) = (LoginCost(), LoginCost())
                // In turns, so that what else the machine does slows both alike.
                for number in 0..<Self.logins {
                    try await known.log(in: "ana", at: suite)
                    try await unknown.log(in: "nobody-\(number)", at: suite)
                }

                #expect(known.hashes == Self.logins && unknown.hashes == Self.logins)
                guard SuiteTests.isSoak else { return }
                print("logins: \(known.median) with an account, \(unknown.median) without")
                #expect((0.95...1.05).contains(known.median / unknown.median), "\(known.median) and \(unknown.median)")
            }
        }

        /// What logins with a wrong password cost auth.
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
                    Issue.record("\(name) has come in")
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
