import Testing

/// What only a browser shows: that one takes the options of passkeys, and that the pages behind links in mails work.
extension SuiteTests {
    @Suite struct BrowserTests {
        @Test func passkeyAndEmailLinks() async throws {
            try await FakePhones.with { suite, phones in
                // Passkeys are for names, and not for addresses.
                let places = ["http://localhost:\(suite.gatewayPort)", "http://127.0.0.1:\(phones.port)"]
                try await PythonClients.with("passkey-browser.py", places, by: "browser") { browser in
                    let status = try await browser.end(within: .seconds(300))
                    #expect(status == 0, "\(browser.output)")
                }
            }
        }
    }
}
