import ChildProcesses
import Foundation
import Logging
import NIOHTTP1
import SandboxServer
import Testing
import Wire

@Suite("Sandbox", .timeLimit(.minutes(1))) struct SandboxTests {
    @Test("Keys and subscriptions survive a restart")
    func restart() async throws {
        try await withFolder { folder in
            var configuration = SandboxConfiguration()
            configuration.folder = "\(folder)/kept"

            let first = try await Sandbox.run(configuration) { sandbox in
                (try sandbox.credentials(of: "acme"), sandbox.authorityPEM, try sandbox.subscribe())
            }
            try await Sandbox.run(configuration) { sandbox in
                let again = try sandbox.credentials(of: "acme")
                #expect(again.apns.key == first.0.apns.key)
                #expect(again.fcm.serviceAccount.privateKey == first.0.fcm.serviceAccount.privateKey)
                #expect(again.vapid.privateKey == first.0.vapid.privateKey)
                #expect(sandbox.authorityPEM == first.1)
                let id = try #require(first.2.endpoint.split(separator: "/").last)
                let url = "\(sandbox.url)/sandbox/subscriptions/\(id)"
                let arguments = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-XDELETE", url]
                let ended = try await Program.run("curl", arguments)
                #expect(ended.output == "204")
            }

            let key = try FileManager.default.attributesOfItem(atPath: "\(folder)/kept/accounts/roost/apns-key.pem")
            #expect(key[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test("The certificate is valid for the configured host names")
    func certificateNames() async throws {
        try await withSandbox {
            $0.names = ["push.example.org"]
        } test: { fixture in
            try await withFolder { folder in
                try fixture.sandbox.authorityPEM.write(toFile: "\(folder)/ca.pem", atomically: true, encoding: .utf8)
                let port = try #require(fixture.sandbox.apnsURL.split(separator: ":").last)
                for host in ["localhost", "sandbox", "push.example.org", "127.0.0.1"] {
                    let resolve = host == "127.0.0.1" ? [] : ["--resolve", "\(host):\(port):127.0.0.1"]
                    let url = "https://\(host):\(port)/ready"
                    let arguments = ["-s", "--cacert", "\(folder)/ca.pem", "--http1.1", url]

                    let (status, output) = try await Program.run("curl", resolve + arguments)

                    #expect(status.isSuccess, "\(host): \(output)")
                    #expect(output == #"{"status":"ready"}"#)
                }
                let authority = "\(folder)/ca.pem"
                let arguments = ["verify", "-x509_strict", "-CAfile", authority, authority]
                let verified = try await Program.run("openssl", arguments)
                #expect(verified.status.isSuccess, "\(verified.output)")
            }
        }
    }

    @Test("A port in use prevents the start")
    func portInUse() async throws {
        try await withSandbox { fixture in
            var configuration = SandboxConfiguration()
            configuration.port = Int(fixture.sandbox.url.split(separator: ":").last ?? "") ?? 0

            await #expect(throws: (any Error).self) { try await Sandbox.run(configuration) { _ in } }
        }
    }

    @Test(
        "The page has a content security policy and loads nothing from other hosts",
        arguments: ["/", "/page.css", "/page.js"]
    )
    func contentSecurityPolicy(path: String) async throws {
        try await withSandbox { fixture in
            let page = try await fixture.send(.GET, fixture.sandbox.url + path)

            #expect(page.status == 200)
            let policy = page.headers["content-security-policy"].first ?? ""
            #expect(policy.contains("default-src 'none'; script-src 'self'; style-src 'self'"))
            #expect(page.headers["x-content-type-options"] == ["nosniff"])
            // All resources are local, and scripts insert no markup.
            let addresses = page.text.matches(of: /(?:src|href)="([^"]*)"/).map { String($0.1) }
            #expect(addresses.allSatisfy { $0.hasPrefix("/") || $0.hasPrefix("data:") })
            #expect(!page.text.contains("innerHTML"))
            #expect(!page.text.contains("insertAdjacentHTML"))
            #expect(try await fixture.control(path, "{}").status == 405)
        }
    }

    @Test("An unknown path, a wrong method and a large body are rejected")
    func notFound() async throws {
        try await withSandbox { fixture in
            let url = fixture.sandbox.url
            for path in ["/nothing", "/sandbox", "/sandbox/nothing", "/webpush", "/fcm/nothing"] {
                let response = try await fixture.send(.GET, url + path)
                #expect(response.status == 404)
            }
            let put = try await fixture.send(.PUT, url + "/sandbox/script")
            let large = try await fixture.send(.POST, url + "/fcm/token", body: Data(count: 300_000))
            let ready = try await fixture.send(.GET, url + "/ready")
            let authority = try await fixture.send(.GET, url + "/ca.pem")

            #expect((put.status, large.status) == (405, 413))
            #expect(ready.text == #"{"status":"ready"}"#)
            #expect(authority.text == fixture.sandbox.authorityPEM)
        }
    }

    @Test("Credentials have URLs with the host of the request")
    func credentialHost() async throws {
        try await withSandbox { fixture in
            let local = fixture.sandbox.url.replacing("127.0.0.1", with: "localhost")

            let reply = try await fixture.send(.GET, local + "/sandbox/credentials?account=acme")
            let credentials = try reply.decode(SandboxCredentials.self)

            #expect(credentials.account == "acme")
            #expect(credentials.fcm.url == "\(local)/fcm")
            #expect(credentials.fcm.serviceAccount.tokenUri == "\(local)/fcm/token")
            #expect(credentials.apns.url == fixture.sandbox.apnsURL.replacing("127.0.0.1", with: "localhost"))
            #expect(try await fixture.send(.GET, local + "/sandbox/credentials?account=A").status == 400)
        }
    }
}
