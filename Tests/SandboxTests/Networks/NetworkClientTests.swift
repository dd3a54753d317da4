import ChildProcesses
import Foundation
import SandboxServer
import Testing

/// Published clients of the real networks must work with the sandbox.
@Suite("Clients of the networks", .timeLimit(.minutes(10))) struct NetworkClientTests {
    @Test(
        "A published client of each network works with the sandbox",
        arguments: [
            "mastodon", "bluesky", "reddit", "twitter", "twitter-webhooks", "tumblr", "facebook", "instagram", "vine",
        ]
    )
    func networkClients(network: String) async throws {
        let made = try await Program.run("scripts/python-clients", ["social"], within: .seconds(280))
        let python = made.output.split(separator: "\n").last.map(String.init) ?? ""

        try await Sandbox.run { sandbox in
            try await withFolder { folder in
                try sandbox.authorityPEM.write(toFile: "\(folder)/ca.pem", atomically: true, encoding: .utf8)
                let secure = String(sandbox.apnsURL.dropFirst("https://".count))
                let script = ["scripts/social-clients.py", sandbox.url, network, secure]

                let (status, output) = try await Program.run(
                    "env",
                    ["REQUESTS_CA_BUNDLE=\(folder)/ca.pem", python] + script,
                    within: .seconds(200)
                )

                #expect(status.isSuccess, "\(output)")
            }
        }
    }
}
