import Crypto
import Foundation
import HTTPTypes
import ServiceHost
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Token encryption") struct TokenEncryptionTests {
    /// The text "ann", encrypted by Python's cryptography for the fixture's key, with `apu` Alice and `apv` Bob.
    private static let foreign =
        "eyJhbGciOiJFQ0RILUVTIiwiZW5jIjoiQTI1NkdDTSIsImtpZCI6IjJ3YnVCemJoU2pEakQwWmJKaWFrVFpIb2FTTnlaUDdLU1ktZkhQTGtv"
        + "dzgiLCJhcHUiOiJRV3hwWTJVIiwiYXB2IjoiUW05aSIsImVwayI6eyJrdHkiOiJFQyIsImNydiI6IlAtMjU2IiwieCI6Im1uZ2NwdEJWcF9N"
        + "TkRKXzRlVGJIT2ZhQmJ2WDE1eXRMbEdRRXNLR29PeW8iLCJ5Ijoid1otRUtVWHFLX1phb1dTYkt3TF9lWVZNalY3UHpVQTRZdWlwZnFac2Nj"
        + "RSJ9fQ..CrMGgjA1Zhu426Ic.9QHR.ARobpWQ-o99PnUpDt3bDdg"

    @Test("The key derivation has the result of RFC 7518, appendix C")
    func keyDerivation() throws {
        let number = try #require(Base64URL.decode("0_NxaRPUMQoAJt50Gz8YiTr8gRTwyEaCumd-MToTmIo"))
        let x = try #require(Base64URL.decode("weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ"))
        let y = try #require(Base64URL.decode("e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck"))
        let alice = try P256.KeyAgreement.PrivateKey(rawRepresentation: number)
        let bob = try P256.KeyAgreement.PublicKey(rawRepresentation: x + y)
        let secret = try alice.sharedSecretFromKeyAgreement(with: bob)

        let key = ConcatKDF.key(
            from: secret.withUnsafeBytes { Data($0) },
            algorithm: "A128GCM",
            bits: 128,
            partyU: Data("Alice".utf8),
            partyV: Data("Bob".utf8)
        )

        #expect(Base64URL.encode(key.withUnsafeBytes { Data($0) }) == "VqqN6vgjbSBcIijNcacQGg")
    }

    @Test("A user can read the key and link an account with an encrypted token")
    func linking() async throws {
        try await withSocial { fixture in
            let keys = try await fixture.service.send(.get, "/networks/keys", token: fixture.ann.token)
            let token = try Encryptor(keys.json["keys"][0]).encrypt("ann")
            let secret = try Encryptor(keys.json["keys"][0]).encrypt("ann's secret")
            let body = #"{"access_token": "\#(token)", "access_token_secret": "\#(secret)"}"#

            let linked = try await fixture.ann.ask(.put, "/networks/twitter", body)

            #expect(keys.status == 200)
            #expect(keys.json["keys"].array.count == 1)
            #expect(keys.json["keys"][0]["use"].string == "enc")
            #expect(linked.status == 200, "\(linked.text)")
            #expect(linked.json["username"].string == "ann")
            #expect(fixture.networks[.twitter].asked.value.contains("identify ann"))
        }
    }

    @Test("Tokens and ids of a request's meta may be encrypted")
    func meta() async throws {
        try await withSocial { fixture in
            fixture.networks[.twitter].fill("ann", times: [1])
            let meta = #"{"twitter": {"access_token": "\#(Self.foreign)", "id": "\#(Self.foreign)"}}"#

            let page = try await fixture.ann.ask(.post, "/feed", #"{"meta": \#(meta)}"#)

            #expect(page.json["response"]["items"].array.count == 1, "\(page.text)")
            #expect(fixture.networks[.twitter].asked.value.contains("feed ann"))
        }
    }

    @Test("Every instance has the same key, and a replaced key still decrypts")
    func rotation() throws {
        let old = SocialFixture.settings["TOKEN_ENCRYPTION_KEY"] ?? ""
        let new = Data(repeating: 9, count: 32).base64EncodedString()
        let first = try TokenEncryption(TokenEncryptor(keys: old))
        let second = try TokenEncryption(TokenEncryptor(keys: old))
        let rotated = try TokenEncryption(TokenEncryptor(keys: "\(new),\(old)"))
        let stranger = try TokenEncryption(TokenEncryptor(keys: new))

        #expect(first.document == second.document)
        #expect(rotated.document == stranger.document)
        #expect(try rotated.open(Self.foreign, field: "access_token") == "ann")
        #expect(throws: APIError.self) { try stranger.open(Self.foreign, field: "access_token") }
    }

    @Test(
        "A text that is not a JWE is used unchanged",
        arguments: ["", "abc", "a.b.c", "a.b.c.d.e", "e30.b.c.d.e", "...."]
    )
    func plain(text: String) throws {
        let encryption = try TokenEncryption(TokenEncryptor(keys: SocialFixture.settings["TOKEN_ENCRYPTION_KEY"] ?? ""))

        #expect(try encryption.open(text, field: "access_token") == text)
    }

    @Test("A token that cannot be decrypted is not sent to the network", arguments: Violation.allCases)
    func violations(violation: Violation) async throws {
        try await withSocial { fixture in
            let keys = try await fixture.service.send(.get, "/networks/keys", token: fixture.ann.token)
            let token = try violation.token(Encryptor(keys.json["keys"][0]))

            let answer = try await fixture.ann.ask(.put, "/networks/twitter", #"{"access_token": "\#(token)"}"#)

            #expect(answer.status == 400)
            #expect(answer.problem?.field == "access_token")
            #expect(answer.problem?.code == violation.code)
            #expect(fixture.networks[.twitter].asked.value.isEmpty)
        }
    }

    enum Violation: CaseIterable {
        case otherAlgorithm, otherContentEncryption, compressed, critical, otherKey, tampered, notText, offCurve
        case damagedHeader, longHeader

        var code: String { self == .otherKey ? "unknown_encryption_key" : "malformed_token_encryption" }

        func token(_ encryptor: Encryptor) throws -> String {
            switch self {
            case .otherAlgorithm: return try encryptor.encrypt("ann", ["alg": .string("RSA-OAEP-256")])
            case .otherContentEncryption: return try encryptor.encrypt("ann", ["enc": .string("A128GCM")])
            case .compressed: return try encryptor.encrypt("ann", ["zip": .string("DEF")])
            case .critical: return try encryptor.encrypt("ann", ["crit": .array([.string("exp")])])
            case .otherKey: return try encryptor.encrypt("ann", ["kid": .string("another")])
            case .tampered:
                var parts = try encryptor.encrypt("ann").split(separator: ".", omittingEmptySubsequences: false)
                parts[3] = "AAAA"
                return parts.joined(separator: ".")
            case .damagedHeader: return "eyJ=" + (try encryptor.encrypt("ann").dropFirst(3))
            case .longHeader:
                return try encryptor.encrypt("ann", ["apu": .string(String(repeating: "A", count: 4_096))])
            case .notText: return try encryptor.encrypt(bytes: Data([0xFF, 0xFE]))
            case .offCurve:
                let zero = JSONValue.string(Base64URL.encode(Data(repeating: 1, count: 32)))
                let key: JSONValue = .object([
                    "kty": .string("EC"), "crv": .string("P-256"), "x": zero, "y": zero,
                ])
                return try encryptor.encrypt("ann", ["epk": key])
            }
        }
    }
}

/// Encrypts as a client does, with the key that the service publishes.
struct Encryptor {
    private let key: P256.KeyAgreement.PublicKey
    private let id: String

    init(_ jwk: JSONValue) throws {
        let x = try #require(jwk["x"].string.flatMap { Base64URL.decode($0) })
        let y = try #require(jwk["y"].string.flatMap { Base64URL.decode($0) })
        key = try P256.KeyAgreement.PublicKey(rawRepresentation: x + y)
        id = try #require(jwk["kid"].string)
    }

    func encrypt(_ text: String, _ fields: [String: JSONValue] = [:]) throws -> String {
        try encrypt(bytes: Data(text.utf8), fields)
    }

    func encrypt(bytes: Data, _ fields: [String: JSONValue] = [:]) throws -> String {
        let ephemeral = P256.KeyAgreement.PrivateKey()
        let point = ephemeral.publicKey.rawRepresentation
        let own: [String: JSONValue] = [
            "alg": .string("ECDH-ES"), "enc": .string("A256GCM"), "kid": .string(id),
            "epk": .object([
                "kty": .string("EC"), "crv": .string("P-256"), "x": .string(Base64URL.encode(point.prefix(32))),
                "y": .string(Base64URL.encode(point.suffix(32))),
            ]),
        ]
        let header = Base64URL.encode(try JSONValue.object(own.merging(fields) { $1 }).compact())
        let secret = try ephemeral.sharedSecretFromKeyAgreement(with: key)
        let contentKey = ConcatKDF.key(
            from: secret.withUnsafeBytes { Data($0) },
            algorithm: "A256GCM",
            bits: 256,
            partyU: Data(),
            partyV: Data()
        )
        let box = try AES.GCM.seal(bytes, using: contentKey, authenticating: Data(header.utf8))
        let parts = [
            header, "", Base64URL.encode(Data(box.nonce)), Base64URL.encode(box.ciphertext), Base64URL.encode(box.tag),
        ]
        return parts.joined(separator: ".")
    }
}
