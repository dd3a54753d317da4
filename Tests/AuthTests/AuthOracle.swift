import AsyncHTTPClient
import ChildProcesses
import Foundation
import NIOCore
import NIOHTTP1
import TestSupport
import Wire

/// Independent libraries for tokens and OpenID Connect (scripts/auth-oracle.txt).
enum AuthOracle {
    /// Verifies a token against a key document with PyJWT and joserfc; each result is null where the library refuses
    /// it.
    static func verify(_ token: String, keys: JSONValue, issuer: String, audience: String) async throws -> JSONValue {
        let question: JSONValue = .object([
            "token": .string(token), "keys": keys, "issuer": .string(issuer), "audience": .string(audience),
        ])
        let command = ProcessCommand(
            try await PythonPrograms.path("auth"),
            ["\(PythonPrograms.scripts)/auth-oracle.py", String(decoding: try question.compact(), as: UTF8.self)],
            environment: ProcessInfo.processInfo.environment
        )
        let (status, output) = try await command.run(within: .seconds(60))
        // The libraries' warnings come before the result.
        guard status.isSuccess, let answer = output.split(separator: "\n").last else { throw TestSupportError(output) }
        return try JSONParser.parse(answer.utf8)
    }
}

/// An independent provider of OpenID Connect that stops at the end of the scope.
struct MockProvider: Sendable {
    let port: LoopbackPort

    /// The provider's issuer URL.
    var url: String { "http://127.0.0.1:\(port.number)" }

    static func with(people: [String], _ body: (MockProvider) async throws -> Void) async throws {
        let provider = MockProvider(port: try LoopbackPort.free())
        var command = ProcessCommand(
            try await PythonPrograms.path("auth"),
            ["-m", "oidc_provider_mock", "--port", "\(provider.port.number)"]
                + people.flatMap { ["--user-claims", $0] },
            environment: ProcessInfo.processInfo.environment
        ).privileged(signalOnParentDeath: "KILL")
        command.output = .discarded
        let process = try await ChildProcess.start(command)
        let outcome: Result<Void, any Error>
        do {
            try await eventually(within: .seconds(60), "answering") {
                guard process.status == nil else { throw TestSupportError("oidc-provider-mock ended") }
                // An error means that it is not ready yet.
                return (try? await provider.isReady()) ?? false
            }
            outcome = .success(try await body(provider))
        } catch {
            outcome = .failure(error)
        }
        process.signal(SIGKILL)
        _ = await process.exit()
        try outcome.get()
    }

    private func isReady() async throws -> Bool {
        let request = HTTPClientRequest(url: "\(url)/.well-known/openid-configuration")
        let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(5))
        _ = try await answer.body.collect(upTo: 1 << 20)
        return answer.status == .ok
    }
}
