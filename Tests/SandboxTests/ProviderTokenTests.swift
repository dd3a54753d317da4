import SandboxServer
import Testing

@Suite("APNs provider tokens of the sandbox", .timeLimit(.minutes(1))) struct ProviderTokenTests {
    @Test("Signatures in raw and in DER format are accepted")
    func signatureFormats() async throws {
        try await withSandbox { fixture in
            let now = fixture.clock.seconds
            let raw = try Tokens.apple(fixture.credentials, issuedAt: now)
            let der = try Tokens.apple(fixture.credentials, issuedAt: now, signature: .der)

            #expect(try await fixture.push(token: raw).status == 200)
            #expect(try await fixture.withAnotherClient { try await $0.push(token: der).status } == 200)
        }
    }

    @Test("A token with a wrong signature, key, team, algorithm or time is rejected")
    func foreignToken() async throws {
        try await withSandbox { fixture in
            let now = fixture.clock.seconds
            let tokens = [
                try Tokens.apple(fixture.credentials, issuedAt: now, signature: .forged),
                try Tokens.apple(fixture.credentials, issuedAt: now, keyID: "NOBODYSKEY"),
                try Tokens.apple(fixture.credentials, issuedAt: now, team: "OTHERSTEAM"),
                try Tokens.apple(fixture.credentials, issuedAt: now, algorithm: "none"),
                try Tokens.apple(fixture.credentials, issuedAt: now, algorithm: "HS256"),
                try Tokens.apple(fixture.credentials, issuedAt: now + 3_600),
            ]

            for token in tokens {
                let reply = try await fixture.push(token: token)
                #expect((reply.status, try reply.reason) == (403, "InvalidProviderToken"))
            }
        }
    }

    @Test("A provider token expires after an hour")
    func tokenExpiry() async throws {
        try await withSandbox { fixture in
            let token = try fixture.clock.token(fixture.credentials)
            #expect(try await fixture.push(token: token).status == 200)

            fixture.clock.advance(minutes: 59.5)
            #expect(try await fixture.push(token: token).status == 200)
            fixture.clock.advance(minutes: 1)
            let expired = try await fixture.push(token: token)

            #expect((expired.status, try expired.reason) == (403, "ExpiredProviderToken"))
            #expect(try await fixture.push().status == 200)
        }
    }

    @Test("A provider token may be replaced after 20 minutes")
    func tokenReplacement() async throws {
        try await withSandbox { fixture in
            let first = try fixture.clock.token(fixture.credentials)
            #expect(try await fixture.push(token: first).status == 200)

            fixture.clock.advance(minutes: 19)
            let early = try await fixture.push()
            #expect((early.status, try early.reason) == (429, "TooManyProviderTokenUpdates"))
            #expect(try await fixture.push(token: first).status == 200)
            fixture.clock.advance(minutes: 2)

            #expect(try await fixture.push().status == 200)
        }
    }

    @Test("A provider token that was rejected may be replaced earlier")
    func tokenReplacementAfterRejection() async throws {
        try await withSandbox { fixture in
            let first = try fixture.clock.token(fixture.credentials)
            #expect(try await fixture.push(token: first).status == 200)
            try fixture.sandbox.script.add(ScriptRule(service: .apns, reason: "ExpiredProviderToken", times: 1))

            let refused = try await fixture.push(token: first)
            fixture.clock.advance(minutes: 1)

            #expect((refused.status, try refused.reason) == (403, "ExpiredProviderToken"))
            #expect(try await fixture.push().status == 200)
        }
    }

    @Test("A key may have only so many tokens within 20 minutes")
    func tooManyTokens() async throws {
        try await withSandbox {
            $0.tokensPerKey = 3
        } test: { fixture in
            var statuses: [Int] = []
            for age in 0..<4 {
                let token = try Tokens.apple(fixture.credentials, issuedAt: fixture.clock.seconds - age)
                statuses.append(try await fixture.withAnotherClient { try await $0.push(token: token).status })
            }
            #expect(statuses == [200, 200, 200, 429])

            fixture.clock.advance(minutes: 21)
            #expect(try await fixture.withAnotherClient { try await $0.push().status } == 200)
        }
    }

    @Test("A connection accepts the tokens of one key only")
    func oneKeyPerConnection() async throws {
        try await withSandbox { fixture in
            let acme = try fixture.sandbox.credentials(of: "acme")
            let token = try Tokens.apple(acme, issuedAt: fixture.clock.seconds)
            #expect(try await fixture.push().status == 200)

            let other = try await fixture.push(token: token, headers: ["apns-topic": acme.apns.topic])
            let own = try await fixture.withAnotherClient {
                try await $0.push(token: token, headers: ["apns-topic": acme.apns.topic]).status
            }

            #expect((other.status, try other.reason) == (403, "UnrelatedKeyIdInToken"))
            #expect(own == 200)
            #expect(acme.apns.keyId != fixture.credentials.apns.keyId)
        }
    }
}
