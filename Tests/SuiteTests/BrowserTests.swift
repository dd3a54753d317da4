import Testing

/// Behaviour that only a browser shows.
extension SuiteTests {
    @Suite("Browser") struct BrowserTests {
        @Test("A browser accepts the passkey options, and the pages behind email links work")
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
