import COSE
import Crypto
import CryptoExtras
import Foundation
import TestSupport
import Testing
import WebAuthn

@Suite("Relying party") struct RelyingPartyTests {
    private static let challenge = "dGhlIGNoYWxsZW5nZSBvZiB0aGUgdGVzdA"
    private static let rsa = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }
    private let party = RelyingParty(id: "localhost", origins: ["http://localhost:8080", "android:apk-key-hash:x"])

    private func known(_ authenticator: SoftwareAuthenticator) -> RelyingParty.KnownCredential {
        RelyingParty.KnownCredential(
            id: authenticator.id,
            publicKey: Data(authenticator.publicKey.encoded),
            signCount: authenticator.signCount,
            userHandle: Data("ana".utf8)
        )
    }

    private func register(
        _ authenticator: SoftwareAuthenticator,
        to challenge: String = Self.challenge
    ) -> WebAuthnError? {
        failure { try party.register(authenticator.create(challenge), challenge: Self.challenge) }
    }

    private func authenticate(
        _ authenticator: SoftwareAuthenticator,
        to challenge: String = Self.challenge,
        by credential: RelyingParty.KnownCredential? = nil
    ) -> WebAuthnError? {
        failure {
            try party.authenticate(
                authenticator.get(challenge),
                challenge: Self.challenge,
                by: credential ?? known(authenticator)
            )
        }
    }

    private func failure<Value>(_ body: () throws -> Value) -> WebAuthnError? {
        do {
            _ = try body()
            return nil
        } catch {
            return error as? WebAuthnError
        }
    }

    @Test("A credential of every algorithm registers and authenticates")
    func registerAndAuthenticate() throws {
        let keys: [SoftwareAuthenticator.Key] = [
            .es256(P256.Signing.PrivateKey()), .edDSA(Curve25519.Signing.PrivateKey()), .rs256(try Self.rsa.get()),
        ]
        for (key, format) in keys.flatMap({ key in ["none", "packed"].map { (key, $0) } }) {
            var authenticator = SoftwareAuthenticator(key: key)
            authenticator.format = format
            authenticator.userHandle = Data("ana".utf8)
            authenticator.flags |= SoftwareAuthenticator.Flag.backupEligible | SoftwareAuthenticator.Flag.backedUp

            let answer = try authenticator.create(Self.challenge)
            #expect(try answer.claimedChallenge == Self.challenge)
            let made = try party.register(answer, challenge: Self.challenge)

            #expect(made.id == authenticator.id)
            #expect(made.publicKey == Data(authenticator.publicKey.encoded))
            #expect(made.isBackupEligible)
            #expect(made.isBackedUp)
            #expect(made.transports == ["internal", "hybrid"])
            let credential = RelyingParty.KnownCredential(
                id: made.id,
                publicKey: made.publicKey,
                signCount: made.signCount,
                userHandle: Data("ana".utf8)
            )
            let answered = try authenticator.get(Self.challenge)
            let seen = try party.authenticate(answered, challenge: Self.challenge, by: credential)
            #expect(seen.signCount == 0)
            #expect(seen.isBackedUp)
        }
    }

    /// The JSON of `toJSON()`, with the fields that browsers add.
    @Test("A browser's JSON decodes, and invalid base64url does not")
    func browserJSON() throws {
        let answer = try SoftwareAuthenticator().create(Self.challenge)
        var object = try #require(JSONSerialization.jsonObject(with: JSONEncoder().encode(answer)) as? [String: Any])
        object["authenticatorAttachment"] = "platform"
        object["clientExtensionResults"] = ["credProps": ["rk": true]]
        let text = try JSONSerialization.data(withJSONObject: object)
        #expect(try JSONDecoder().decode(RegistrationResponse.self, from: text) == answer)

        object["rawId"] = "not+base64url="
        let wrong = try JSONSerialization.data(withJSONObject: object)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(RegistrationResponse.self, from: wrong) }
    }

    @Test("A response for another origin, challenge, ceremony or relying party is rejected")
    func wrongContext() {
        var other = SoftwareAuthenticator()
        other.origin = "https://localhost.example.org"
        #expect(register(other) == .wrongOrigin)
        #expect(authenticate(other) == .wrongOrigin)
        other.origin = "http://localhost:8080/"
        #expect(register(other) == .wrongOrigin)
        other.origin = "android:apk-key-hash:x"
        #expect(register(other) == nil)
        #expect(authenticate(other) == nil)
        other.crossOrigin = true
        #expect(register(other) == .wrongOrigin)
        #expect(authenticate(other) == .wrongOrigin)
        other.crossOrigin = false
        #expect(register(other) == nil)

        let good = SoftwareAuthenticator()
        #expect(register(good, to: "YW5vdGhlcg") == .wrongChallenge)
        #expect(authenticate(good, to: "") == .wrongChallenge)
        var swapped = good
        swapped.ceremony = "webauthn.get"
        #expect(register(swapped) == .wrongCeremony)
        swapped.ceremony = "webauthn.create"
        #expect(authenticate(swapped) == .wrongCeremony)
        var foreign = SoftwareAuthenticator(relyingParty: "example.org")
        foreign.origin = good.origin
        #expect(register(foreign) == .wrongRelyingParty)
        #expect(authenticate(foreign) == .wrongRelyingParty)
    }

    @Test("A response without user presence or user verification is rejected")
    func userPresenceAndVerification() {
        var authenticator = SoftwareAuthenticator()
        authenticator.flags = SoftwareAuthenticator.Flag.verified
        #expect(register(authenticator) == .userNotPresent)
        #expect(authenticate(authenticator) == .userNotPresent)
        authenticator.flags = SoftwareAuthenticator.Flag.present
        #expect(register(authenticator) == .userNotVerified)
        #expect(authenticate(authenticator) == .userNotVerified)
    }

    @Test("Authenticator data with missing or extra bytes is malformed")
    func authenticatorData() throws {
        let malformed = WebAuthnError.malformed("authenticatorData")
        var authenticator = SoftwareAuthenticator()
        authenticator.tail = Data([0])
        #expect(register(authenticator) == malformed)
        #expect(authenticate(authenticator) == malformed)
        authenticator.flags |= SoftwareAuthenticator.Flag.extensions
        #expect(authenticate(authenticator) == malformed)
        authenticator.tail = Data(CBORValue.map([.text("credProtect"): CBORValue(2)]).encoded)
        #expect(register(authenticator) == nil)
        #expect(authenticate(authenticator) == nil)
        authenticator.tail.append(0)
        #expect(authenticate(authenticator) == malformed)

        var copied = SoftwareAuthenticator()
        copied.flags |= SoftwareAuthenticator.Flag.backedUp
        #expect(authenticate(copied) == malformed)
        let whole = Data(SHA256.hash(data: Data("localhost".utf8))) + Data([0x45, 0, 0, 0, 0])
        for length in 0..<whole.count {
            #expect(throws: WebAuthnError.self) { try AuthenticatorData(whole.prefix(length)) }
        }
        // The flags announce a credential: first it is missing, then its length exceeds the data.
        #expect(throws: WebAuthnError.self) { try AuthenticatorData(whole) }
        #expect(throws: WebAuthnError.self) { try AuthenticatorData(whole + Data(count: 16) + Data([255, 255, 1])) }
        #expect(throws: WebAuthnError.self) { try AuthenticatorData(whole + Data(count: 16) + Data([0, 0, 0xA0])) }
    }

    @Test("Only attestation by none or by the credential's own key is accepted")
    func attestation() throws {
        var authenticator = SoftwareAuthenticator()
        for format in ["fido-u2f", "tpm", "apple", ""] {
            authenticator.format = format
            #expect(register(authenticator) == .attestation)
        }
        authenticator.format = "none"
        authenticator.statement = [.text("sig"): .bytes(Data())]
        #expect(register(authenticator) == .attestation)

        authenticator.format = "packed"
        let signature = try authenticator.sign(Data("something else".utf8))
        authenticator.statement = [.text("alg"): CBORValue(-7), .text("sig"): .bytes(signature)]
        #expect(register(authenticator) == .attestation)
        authenticator.statement = [.text("alg"): CBORValue(-8), .text("sig"): .bytes(signature)]
        #expect(register(authenticator) == .attestation)
        authenticator.statement = [.text("alg"): CBORValue(-7), .text("x5c"): .array([.bytes(Data())])]
        #expect(register(authenticator) == .attestation)
    }

    @Test("A credential is accepted only with its own id, key and user")
    func credentialIdentity() throws {
        let (ana, eve) = (SoftwareAuthenticator(), SoftwareAuthenticator())
        #expect(authenticate(eve, by: known(ana)) == .wrongCredential)
        var stolen = eve
        stolen.id = ana.id
        #expect(authenticate(stolen, by: known(ana)) == .wrongSignature)
        var foreign = ana
        foreign.userHandle = Data("eve".utf8)
        #expect(authenticate(foreign, by: known(ana)) == .wrongCredential)

        var answer = try ana.create(Self.challenge)
        func error() -> WebAuthnError? { failure { try party.register(answer, challenge: Self.challenge) } }
        answer.id = Base64URLBytes(eve.id)
        #expect(error() == .malformed("id"))
        answer.rawId = Base64URLBytes(eve.id)
        #expect(error() == .wrongCredential)
        answer.type = "password"
        #expect(error() == .malformed("id"))
    }

    @Test("A change to any signed part invalidates the signature")
    func signature() throws {
        let ana = SoftwareAuthenticator()
        let good = try ana.get(Self.challenge)
        func error(of answer: AuthenticationResponse) -> WebAuthnError? {
            failure { try party.authenticate(answer, challenge: Self.challenge, by: known(ana)) }
        }
        var answer = good
        answer.response.authenticatorData.bytes[36] ^= 1
        #expect(error(of: answer) == .wrongSignature)
        answer = good
        answer.response.clientDataJSON.bytes.append(contentsOf: " ".utf8)
        #expect(error(of: answer) == .wrongSignature)
        answer = good
        answer.response.signature.bytes = Data()
        #expect(error(of: answer) == .wrongSignature)
        answer.response.clientDataJSON.bytes = Data("{}".utf8)
        #expect(error(of: answer) == .malformed("clientDataJSON"))
    }

    @Test("A signature counter that does not increase reveals a cloned authenticator")
    func clonedAuthenticator() {
        var authenticator = SoftwareAuthenticator()
        authenticator.signCount = 7
        let before = known(authenticator)
        let counts: [(UInt32, WebAuthnError?)] = [(8, nil), (700, nil), (7, .cloned), (6, .cloned), (0, .cloned)]
        for (count, error) in counts {
            authenticator.signCount = count
            #expect(authenticate(authenticator, by: before) == error, "\(count)")
        }
    }
}
