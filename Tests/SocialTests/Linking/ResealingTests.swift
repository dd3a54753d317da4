import Foundation
import ServiceClient
import SocialAPI
import TestSupport
import Testing
import Wire

/// A key that is replaced without a gap.
@Suite struct ResealingTests {
    @Test func tokensAreSealedAnewAndTheOldKeyMayGo() async throws {
        try await withSocial { scene in
            let (old, new) = (
                Scene.settings["TOKEN_ENCRYPTION_KEY"] ?? "", Data(repeating: 9, count: 32).base64EncodedString()
            )
            try await scene.link(.twitter, .facebook)
            try await scene.bob.link(.twitter, "bob")
            scene.networks[.twitter].fill("bob", times: [1])

            try await scene.another(settings: ["TOKEN_ENCRYPTION_KEY": "\(new),\(old)"]) { both in
                let social = SocialClient(try both.neighbour("roost", callee: "social"))
                _ = try await social.reencrypt()
                #expect(try await social.reencrypt() == ResealReport(reencrypted: 0, unreadable: 0))
                #expect(try await both.neighbour("push", callee: "social").refusesReseal)
            }
            #expect(try await scene.rows("SELECT DISTINCT key_id AS row FROM accounts").count == 1)
            try await scene.another(settings: ["TOKEN_ENCRYPTION_KEY": new]) { after in
                let bob = try await Person(scene.bob.id, at: after, scene.keys)
                #expect(try await bob.read("/feed").response.items.count == 1)
            }
            try await scene.another(settings: ["TOKEN_ENCRYPTION_KEY": old]) { before in
                let social = SocialClient(try before.neighbour("roost", callee: "social"))
                #expect(try await social.reencrypt() == ResealReport(reencrypted: 0, unreadable: 3))
            }
        }
    }
}

extension ServiceClient {
    fileprivate var refusesReseal: Bool {
        get async throws {
            do {
                _ = try await SocialClient(self).reencrypt()
                return false
            } catch let error as APIError {
                return error.kind == .forbidden
            }
        }
    }
}
