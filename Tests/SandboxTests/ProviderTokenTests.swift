import SandboxServer
import Testing

/// Who a provider says that it is, and for how long.
@Suite(.timeLimit(.minutes(1))) struct ProviderTokenTests {
    @Test func signaturesAreTakenRawAndInDER() async throws {
        try await withSandbox { scene in
            let now = scene.clock.seconds
            let raw = try Tokens.apple(scene.credentials, issuedAt: now)
            let der = try Tokens.apple(scene.credentials, issuedAt: now, signature: .der)

            #expect(try await scene.push(token: raw).status == 200)
            #expect(try await scene.withAnotherClient { try await $0.push(token: der).status } == 200)
        }
    }

    @Test func aTokenOfSomebodyElseIsRefused() async throws {
        try await withSandbox { scene in
            let now = scene.clock.seconds
            let tokens = [
                try Tokens.apple(scene.credentials, issuedAt: now, signature: .forged),
                try Tokens.apple(scene.credentials, issuedAt: now, keyID: "NOBODYSKEY"),
                try Tokens.apple(scene.credentials, issuedAt: now, team: "OTHERSTEAM"),
                try Tokens.apple(scene.credentials, issuedAt: now, algorithm: "none"),
                try Tokens.apple(scene.credentials, issuedAt: now, algorithm: "HS256"),
                try Tokens.apple(scene.credentials, issuedAt: now + 3_600),
            ]

            for token in tokens {
                let reply = try await scene.push(token: token)
                #expect((reply.status, try reply.reason) == (403, "InvalidProviderToken"))
            }
        }
    }

    @Test func aTokenIsGoodForAnHour() async throws {
        try await withSandbox { scene in
            let token = try scene.clock.token(scene.credentials)
            #expect(try await scene.push(token: token).status == 200)

            scene.clock.advance(minutes: 59.5)
            #expect(try await scene.push(token: token).status == 200)
            scene.clock.advance(minutes: 1)
            let expired = try await scene.push(token: token)

            #expect((expired.status, try expired.reason) == (403, "ExpiredProviderToken"))
            #expect(try await scene.push().status == 200)
        }
    }

    @Test func aTokenMayBeReplacedAfterTwentyMinutes() async throws {
        try await withSandbox { scene in
            let first = try scene.clock.token(scene.credentials)
            #expect(try await scene.push(token: first).status == 200)

            scene.clock.advance(minutes: 19)
            let early = try await scene.push()
            #expect((early.status, try early.reason) == (429, "TooManyProviderTokenUpdates"))
            #expect(try await scene.push(token: first).status == 200)
            scene.clock.advance(minutes: 2)

            #expect(try await scene.push().status == 200)
        }
    }

    @Test func afterARefusalATokenMayBeReplacedAtOnce() async throws {
        try await withSandbox { scene in
            let first = try scene.clock.token(scene.credentials)
            #expect(try await scene.push(token: first).status == 200)
            try scene.sandbox.script.add(ScriptRule(service: .apns, reason: "ExpiredProviderToken", times: 1))

            let refused = try await scene.push(token: first)
            scene.clock.advance(minutes: 1)

            #expect((refused.status, try refused.reason) == (403, "ExpiredProviderToken"))
            #expect(try await scene.push().status == 200)
        }
    }

    @Test func aTokenForEachRequestIsTooManyOnAnyNumberOfConnections() async throws {
        try await withSandbox {
            $0.tokensPerKey = 3
        } test: { scene in
            var statuses: [Int] = []
            for age in 0..<4 {
                let token = try Tokens.apple(scene.credentials, issuedAt: scene.clock.seconds - age)
                statuses.append(try await scene.withAnotherClient { try await $0.push(token: token).status })
            }
            #expect(statuses == [200, 200, 200, 429])

            scene.clock.advance(minutes: 21)
            #expect(try await scene.withAnotherClient { try await $0.push().status } == 200)
        }
    }

    @Test func aConnectionIsOneKeys() async throws {
        try await withSandbox { scene in
            let acme = try scene.sandbox.credentials(of: "acme")
            let token = try Tokens.apple(acme, issuedAt: scene.clock.seconds)
            #expect(try await scene.push().status == 200)

            let other = try await scene.push(token: token, headers: ["apns-topic": acme.apns.topic])
            let own = try await scene.withAnotherClient {
                try await $0.push(token: token, headers: ["apns-topic": acme.apns.topic]).status
            }

            #expect((other.status, try other.reason) == (403, "UnrelatedKeyIdInToken"))
            #expect(own == 200)
            #expect(acme.apns.keyId != scene.credentials.apns.keyId)
        }
    }
}
