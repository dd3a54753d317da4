import Credentials
import Foundation
import Synchronization
import Testing
import TestSupport
import Wire

@Suite("Service tokens") struct ServiceTokensTests {
    @Test("A token names its caller")
    func caller() throws {
        let push = try ServiceTokens(secret: TestService.secret, name: "push")
        let auth = try ServiceTokens(secret: TestService.secret, name: "auth")

        #expect(try auth.caller(of: push.token(for: "auth")) == "push")
    }

    @Test("A token for another service, with another secret or malformed, is refused")
    func refused() throws {
        let push = try ServiceTokens(secret: TestService.secret, name: "push")
        let auth = try ServiceTokens(secret: TestService.secret, name: "auth")
        let other = try ServiceTokens(secret: TestService.secret + "!", name: "push")

        let tokens = [try push.token(for: "photos"), try other.token(for: "auth"), "", "a.b.c"]
        for token in tokens {
            #expect(throws: APIError.self) { try auth.caller(of: token) }
        }
    }

    @Test("A token lasts a minute")
    func lifetime() throws {
        let now = Mutex(Date())
        let push = try ServiceTokens(secret: TestService.secret, name: "push") { now.withLock { $0 } }
        let auth = try ServiceTokens(secret: TestService.secret, name: "auth") { now.withLock { $0 } }
        let token = try push.token(for: "auth")

        now.withLock { $0 += 59 }
        #expect(try auth.caller(of: token) == "push")
        now.withLock { $0 += 10 }
        #expect(throws: APIError.self) { try auth.caller(of: token) }
    }

    @Test("A shared secret below 32 bytes is rejected")
    func shortSecret() {
        #expect(throws: APIError.self) { try ServiceTokens(secret: "short", name: "push") }
    }

    @Test("A service cannot act as another service with its own key")
    func impersonation() throws {
        let keys = Deployment()
        let auth = ServiceTokens(keys: try keys.keys(of: "auth"))
        let push = try keys.keys(of: "push")
        #expect(try auth.caller(of: ServiceTokens(keys: push).token(for: "auth")) == "push")

        // The process push claims to be photos, with the key of push.
        let publicKeys = try ServiceKeys.publicKeys(of: ["photos": keys.privateKeys["push"] ?? ""])
        let impostor = try ServiceKeys(
            privateKeys: keys.privateKeys["push"] ?? "",
            publicKeys: publicKeys,
            name: "photos"
        )
        #expect(throws: APIError.self) { try auth.caller(of: ServiceTokens(keys: impostor).token(for: "auth")) }
    }

    @Test("Both keys of a service are accepted while its key is replaced, and only the new one afterwards")
    func rotation() throws {
        var keys = Deployment()
        let old = keys.privateKeys["push"] ?? ""
        let oldToken = try ServiceTokens(keys: try keys.keys(of: "push")).token(for: "auth")
        let new = ServiceKeys.generate()

        keys.privateKeys["push"] = "\(new),\(old)"
        let during = ServiceTokens(keys: try keys.keys(of: "auth"))
        let newToken = try ServiceTokens(keys: try keys.keys(of: "push")).token(for: "auth")
        #expect(try during.caller(of: oldToken) == "push")
        #expect(try during.caller(of: newToken) == "push")
        #expect(try keys.keys(of: "push").ownSecrets.count == 2)

        keys.privateKeys["push"] = new
        let after = ServiceTokens(keys: try keys.keys(of: "auth"))
        #expect(throws: APIError.self) { try after.caller(of: oldToken) }
        #expect(try after.caller(of: newToken) == "push")
    }

    @Test(
        "Malformed keys are rejected with an error that names the setting",
        arguments: [
            ("", "auth:", "SERVICE_KEY"), ("AA==", "", "SERVICE_KEY"), ("x,y,z", "", "SERVICE_KEY"),
            (Deployment.key, "", "SERVICE_PUBLIC_KEYS"), (Deployment.key, "auth:AA==", "SERVICE_PUBLIC_KEYS"),
            (Deployment.key, "auth", "SERVICE_PUBLIC_KEYS"),
        ]
    )
    func malformedKeys(privateKeys: String, publicKeys: String, setting: String) {
        let error = #expect(throws: APIError.self) {
            try ServiceKeys(privateKeys: privateKeys, publicKeys: publicKeys, name: "auth")
        }
        #expect(error?.message.contains(setting) == true)
    }

    @Test("A third key of one service is rejected")
    func threeKeys() throws {
        var keys = Deployment()
        let third = try ServiceKeys.publicKeys(of: ["push": Deployment.key])
        keys.privateKeys["push"] = "\(ServiceKeys.generate()),\(ServiceKeys.generate())"
        let publicKeys = try ServiceKeys.publicKeys(of: keys.privateKeys)
        #expect(throws: APIError.self) {
            try ServiceKeys(
                privateKeys: keys.privateKeys["auth"] ?? "",
                publicKeys: "\(publicKeys),\(third)",
                name: "auth"
            )
        }
    }
}

/// The private keys of all processes of a deployment.
private struct Deployment {
    static let key = ServiceKeys.generate()

    var privateKeys = Dictionary(uniqueKeysWithValues: ServiceKeys.names.map { ($0, ServiceKeys.generate()) })

    func keys(of name: String) throws -> ServiceKeys {
        try ServiceKeys(
            privateKeys: privateKeys[name] ?? "",
            publicKeys: ServiceKeys.publicKeys(of: privateKeys),
            name: name
        )
    }
}
