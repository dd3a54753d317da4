import Testing

/// Behaviour that only a browser shows.
extension SuiteTests {
    @Suite("Browser") struct BrowserTests {
        @Test("A browser adds a passkey, signs in with it, and sets a new password by an emailed link")
        func passkeyAndEmailLinks() async throws {
            try await FakePhones.with { suite, phones in
                // Passkeys need a host name instead of an IP address.
                let urls = ["http://localhost:\(suite.gatewayPort)", "http://127.0.0.1:\(phones.port)"]
                try await PythonClients.with("passkey-browser.py", urls, by: "browser") { browser in
                    let status = try await browser.end(within: .seconds(300))
                    #expect(status == 0, "\(browser.output)")
                }
            }
        }
    }
}
