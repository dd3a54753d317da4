import ChildProcesses
import Foundation
import NIOHTTP1
import SandboxServer
import Testing

/// Behaviour that shows only in the frames of a connection, or with other clients: nghttp, h2load and curl.
@Suite("APNs frames", .timeLimit(.minutes(5))) struct APNsFrameTests {
    /// Sends a notification with nghttp, and returns its log of the frames.
    private func frames(_ fixture: SandboxFixture) async throws -> String {
        try await withFolder { folder in
            let payload = "\(folder)/payload.json"
            try SandboxFixture.alert.write(toFile: payload, atomically: true, encoding: .utf8)
            let headers = try fixture.validHeaders().flatMap { ["-H", "\($0.name): \($0.value)"] }
            let url = "\(fixture.sandbox.apnsURL)/3/device/\(SandboxFixture.device)"
            return try await Program.run("nghttp", ["-nv", "-d", payload] + headers + [url]).output
        }
    }

    @Test("A connection allows one stream at first, and then 1,000")
    func streamLimit() async throws {
        try await withSandbox { fixture in
            let output = try await frames(fixture)

            let limits = output.matches(of: /SETTINGS_MAX_CONCURRENT_STREAMS\(0x03\):(\d+)/).map { String($0.1) }
            // The client's own limit is logged between the two.
            #expect(limits.contains("1"), "\(output)")
            #expect(limits.last == "1000", "\(output)")
            #expect(output.contains(":status: 200"))
        }
    }

    @Test("GOAWAY has the reason and the last stream that was processed")
    func goAway() async throws {
        try await withSandbox { fixture in
            let rule = ScriptRule(service: .apns, behaviour: .goaway, reason: "IdleTimeout", times: 1)
            try fixture.sandbox.script.add(rule)

            let output = try await frames(fixture)

            #expect(output.contains("recv GOAWAY frame"), "\(output)")
            // nghttp chooses the ID of its first stream, and the streams before that one count as processed.
            let sent = try #require(output.firstMatch(of: /send HEADERS frame <.*stream_id=(\d+)>/)?.1)
            let last = max(0, try #require(Int(sent)) - 2)
            #expect(output.contains("last_stream_id=\(last), error_code=NO_ERROR"), "\(output)")
            #expect(output.contains(#"{"reason":"IdleTimeout","timestamp":"#), "\(output)")
            #expect(fixture.sandbox.received.counts.accepted == 0)
        }
    }

    @Test("A scripted reset resets the stream")
    func streamReset() async throws {
        try await withSandbox { fixture in
            try fixture.sandbox.script.add(ScriptRule(service: .apns, behaviour: .reset, times: 1))

            let output = try await frames(fixture)

            #expect(output.contains("recv RST_STREAM frame"), "\(output)")
            #expect(output.contains("error_code=INTERNAL_ERROR"), "\(output)")
            #expect(!output.contains(":status"))
        }
    }

    @Test("A connection serves 1,000 concurrent streams")
    func thousandStreams() async throws {
        try await withSandbox { fixture in
            try await withFolder { folder in
                let payload = "\(folder)/payload.json"
                try SandboxFixture.alert.write(toFile: payload, atomically: true, encoding: .utf8)
                let headers = try fixture.validHeaders().flatMap { ["-H", "\($0.name): \($0.value)"] }
                let url = "\(fixture.sandbox.apnsURL)/3/device/\(SandboxFixture.device)"
                let load = ["-n", "5000", "-c", "2", "-m", "1000", "-d", payload]

                let (status, output) = try await Program.run("h2load", load + headers + [url], within: .seconds(200))

                #expect(status.isSuccess)
                #expect(output.contains("5000 succeeded, 0 failed, 0 errored"), "\(output)")
                #expect(output.contains("status codes: 5000 2xx"), "\(output)")
                #expect(fixture.sandbox.received.counts.accepted == 5_000)
            }
        }
    }

    @Test("curl accepts the certificate only if it trusts the sandbox's authority")
    func curl() async throws {
        try await withSandbox { fixture in
            try await withFolder { folder in
                let authority = "\(folder)/ca.pem"
                try fixture.sandbox.authorityPEM.write(toFile: authority, atomically: true, encoding: .utf8)
                let headers = try fixture.validHeaders().flatMap { ["-H", "\($0.name): \($0.value)"] }
                let url = "\(fixture.sandbox.apnsURL)/3/device/\(SandboxFixture.device)"
                let arguments = ["-s", "-i", "--http2", "--cacert", authority, "-d", SandboxFixture.alert]

                let trusting = try await Program.run("curl", arguments + headers + [url])
                let distrusting = try await Program.run("curl", ["-s", "--http2", "-d", "{}", url])

                #expect(trusting.output.hasPrefix("HTTP/2 200"), "\(trusting.output)")
                #expect(trusting.output.contains("apns-id: "))
                #expect(!distrusting.status.isSuccess)
            }
        }
    }

    @Test("A body of 1 MiB is rejected")
    func largeBody() async throws {
        try await withSandbox { fixture in
            try await withFolder { folder in
                let body = "\(folder)/body"
                try Data(count: 1 << 20).write(to: URL(filePath: body))
                let headers = try fixture.validHeaders().flatMap { ["-H", "\($0.name): \($0.value)"] }
                let url = "\(fixture.sandbox.apnsURL)/3/device/\(SandboxFixture.device)"
                let arguments = ["-s", "-k", "--http2", "-w", "%{http_code}", "--data-binary", "@\(body)"]

                let output = try await Program.run("curl", arguments + headers + [url]).output

                #expect(output == #"{"reason":"PayloadTooLarge"}413"#)
            }
        }
    }

    @Test("Published push clients in Python can send notifications")
    func pushClients() async throws {
        try await Sandbox.run { sandbox in
            let made = try await Program.run(
                "scripts/python-environment",
                ["push-clients", "scripts/push-clients.txt"],
                within: .seconds(300)
            )
            let python = made.output.split(separator: "\n").last.map(String.init) ?? ""

            let (status, output) = try await Program.run(python, ["scripts/push-clients.py", sandbox.url])

            #expect(status.isSuccess, "\(output)")
            #expect(sandbox.received.counts.accepted == 4)
        }
    }
}
