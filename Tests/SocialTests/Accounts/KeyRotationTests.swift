import Foundation
import ServiceClient
import SocialAPI
import TestSupport
import Testing
import Wire

@Suite("Key rotation") struct KeyRotationTests {
    @Test("After re-encryption the tokens can be read with the new key only")
    func rotation() async throws {
        try await withSocial { fixture in
            let (old, new) = (
                SocialFixture.settings["TOKEN_ENCRYPTION_KEY"] ?? "",
                Data(repeating: 9, count: 32).base64EncodedString()
            )
            try await fixture.link(.twitter, .facebook)
            try await fixture.bob.link(.twitter, "bob")
            fixture.networks[.twitter].fill("bob", times: [1])

            try await fixture.another(settings: ["TOKEN_ENCRYPTION_KEY": "\(new),\(old)"]) { both in
                let social = SocialClient(try both.peerClient("roost", callee: "social"))
                _ = try await social.reencrypt()
                #expect(try await social.reencrypt() == ReencryptionReport(reencrypted: 0, unreadable: 0))
                #expect(try await both.peerClient("push", callee: "social").rejectsReencryption)
            }
            #expect(try await fixture.rows("SELECT DISTINCT key_id AS row FROM accounts").count == 1)
            try await fixture.another(settings: ["TOKEN_ENCRYPTION_KEY": new]) { after in
                let bob = try await TestUser(fixture.bob.id, at: after, fixture.keys)
                #expect(try await bob.read("/feed").response.items.count == 1)
            }
            try await fixture.another(settings: ["TOKEN_ENCRYPTION_KEY": old]) { before in
                let social = SocialClient(try before.peerClient("roost", callee: "social"))
                #expect(try await social.reencrypt() == ReencryptionReport(reencrypted: 0, unreadable: 3))
            }
        }
    }
}

extension ServiceClient {
    fileprivate var rejectsReencryption: Bool {
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
