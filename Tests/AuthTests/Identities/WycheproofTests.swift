import Credentials
import Foundation
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// Signatures of ID tokens against Wycheproof's vectors.
@Suite("Wycheproof vectors of ID tokens", .enabled(if: Wycheproof.folder != nil)) struct WycheproofTests {
    private struct Group: Decodable {
        struct Vector: Decodable {
            let tcId: Int
            let comment: String
            let jws: JSONValue
            let result: Wycheproof.Expectation
        }

        let `public`: JSONValue?
        let `private`: JSONValue?
        let tests: [Vector]

        var document: JSONValue {
            let given = `public` ?? `private` ?? .null
            if case .array? = given["keys"] as JSONValue? { return given }
            return .object(["keys": .array([given])])
        }
    }

    /// A weak key that only its fingerprint reveals; a provider that publishes one is compromised anyway.
    private static let tolerated: Set = ["rejectsKeyWithRocaVulnerability"]

    @Test(
        "Only valid tokens are accepted, and all of those with supported algorithms",
        arguments: ["json_web_signature", "json_web_key"]
    )
    func vectors(file: String) throws {
        let groups: [Group] = try Wycheproof.groups(file)
        var accepted = 0
        for group in groups {
            // An error means an unsupported algorithm or an unusable key.
            let keys = try? ProviderKeySet(group.document)
            for vector in group.tests where !Self.tolerated.contains(vector.comment) {
                let isAccepted =
                    CompactJWS(vector.jws.text ?? "", maximumLength: 65_536)
                    .map { keys?.key(for: $0)?.verifies($0) ?? false } ?? false
                if isAccepted { accepted += 1 }
                #expect(!isAccepted || vector.result == .valid, "\(file) \(vector.tcId): \(vector.comment)")
            }
        }
        // The vectors with RS256 or ES256 and a payload.
        #expect(accepted == (file == "json_web_signature" ? 9 : 1))
    }
}
