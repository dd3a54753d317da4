import Credentials
import Foundation
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// Tokens of providers, and keys of their documents, are judged as Wycheproof's vectors say.
@Suite(.enabled(if: Wycheproof.folder != nil)) struct WycheproofTests {
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

    /// Known by its fingerprint alone; a provider whose document has such a key is lost anyway.
    private static let tolerated: Set = ["rejectsKeyWithRocaVulnerability"]

    @Test(arguments: ["json_web_signature", "json_web_key"])
    func tokensAreJudgedAsTheyShouldBe(file: String) throws {
        let groups: [Group] = try Wycheproof.groups(file)
        var accepted = 0
        for group in groups {
            // Silence: algorithms that are not used here, and keys that are none.
            let keys = try? ProviderKeySet(group.document)
            for vector in group.tests where !Self.tolerated.contains(vector.comment) {
                let isAccepted =
                    CompactJWS(vector.jws.text ?? "", maximumLength: 65_536)
                    .map { keys?.key(for: $0)?.verifies($0) ?? false } ?? false
                if isAccepted { accepted += 1 }
                #expect(!isAccepted || vector.result == .valid, "\(file) \(vector.tcId): \(vector.comment)")
            }
        }
        // Those with RS256 and ES256 whose payload is not empty.
        #expect(accepted == (file == "json_web_signature" ? 9 : 1))
    }
}
