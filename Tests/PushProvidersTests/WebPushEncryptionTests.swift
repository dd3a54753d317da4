import Crypto
import Foundation
import Testing

@testable import PushProviders

/// Message encryption by RFC 8291.
@Suite("Web Push encryption") struct WebPushEncryptionTests {
    private func bytes(_ text: String) throws -> [UInt8] { Array(try #require(Base64URL.decode(text))) }

    @Test("The example of RFC 8291, appendix A, is encrypted to the same bytes")
    func rfcExample() throws {
        let encryption = try #require(
            WebPushEncryption(
                p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
                auth: "BTBZMqHH6r4Tts7J_aSIgg"
            )
        )
        let key = try P256.KeyAgreement.PrivateKey(
            rawRepresentation: try bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")
        )
        let body = try encryption.encrypt(
            Array("When I grow up, I want to be a watermelon".utf8),
            key: key,
            salt: try bytes("DGv6ra1nlYgDCS1FRnbzlw")
        )

        let expected = """
            DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl\
            7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN
            """
        #expect(Base64URL.encode(body) == expected)
    }

    @Test("Each message has a new salt and key")
    func freshSaltAndKey() throws {
        let browser = Browser()
        guard case .web(_, let point, let auth) = browser.target("https://a.example/") else { return }
        let encryption = try #require(WebPushEncryption(p256dh: point, auth: auth))
        let bodies = try (0..<20).map { _ in try encryption.encrypt([1, 2, 3]) }

        #expect(Set(bodies.map { $0[..<16] }).count == 20)
        #expect(Set(bodies.map { $0[21..<86] }).count == 20)
    }

    @Test(
        "Malformed keys are rejected",
        arguments: [
            ("", "BTBZMqHH6r4Tts7J_aSIgg"), ("BCVxsr7N", "BTBZMqHH6r4Tts7J_aSIgg"),
            // A point that is not on the curve.
            (
                "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw8",
                "BTBZMqHH6r4Tts7J_aSIgg"
            ),
            ("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", "BTBZMqHH"),
            ("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", "not base64!"),
        ]
    )
    func invalidKeys(p256dh: String, auth: String) {
        #expect(WebPushEncryption(p256dh: p256dh, auth: auth) == nil)
    }

    @Test("Keys in padded base64 with `+` and `/` are accepted")
    func base64Alphabets() throws {
        let point = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        let padded = point.replacing("-", with: "+").replacing("_", with: "/") + "="
        #expect(WebPushEncryption(p256dh: padded, auth: "BTBZMqHH6r4Tts7J/aSIgg==") != nil)
    }
}
