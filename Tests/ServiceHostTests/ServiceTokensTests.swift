import Credentials
import Foundation
import Synchronization
import Testing
import TestSupport
import Wire

@Suite struct ServiceTokensTests {
    @Test func aTokenSaysWhoCalls() throws {
        let push = try ServiceTokens(secret: TestService.secret, name: "push")
        let auth = try ServiceTokens(secret: TestService.secret, name: "auth")

        #expect(try auth.caller(of: push.token(for: "auth")) == "push")
    }

    @Test func aTokenForAnotherServiceIsRefused() throws {
        let push = try ServiceTokens(secret: TestService.secret, name: "push")
        let auth = try ServiceTokens(secret: TestService.secret, name: "auth")
        let stranger = try ServiceTokens(secret: TestService.secret + "!", name: "push")

        let tokens = [try push.token(for: "photos"), try stranger.token(for: "auth"), "", "a.b.c"]
        for token in tokens {
            #expect(throws: APIError.self) { try auth.caller(of: token) }
        }
    }

    @Test func aTokenLastsAMinute() throws {
        let now = Mutex(Date())
        let push = try ServiceTokens(secret: TestService.secret, name: "push") { now.withLock { $0 } }
        let auth = try ServiceTokens(secret: TestService.secret, name: "auth") { now.withLock { $0 } }
        let token = try push.token(for: "auth")

        now.withLock { $0 += 59 }
        #expect(try auth.caller(of: token) == "push")
        now.withLock { $0 += 10 }
        #expect(throws: APIError.self) { try auth.caller(of: token) }
    }

    @Test func aShortSecretIsRefused() {
        #expect(throws: APIError.self) { try ServiceTokens(secret: "short", name: "push") }
    }
}
