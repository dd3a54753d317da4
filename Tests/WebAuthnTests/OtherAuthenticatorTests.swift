import COSE
import ChildProcesses
import Foundation
import TestSupport
import Testing
import WebAuthn

/// The relying party with an independent authenticator: fido2 (scripts/passkey-authenticator.py).
@Suite("Independent authenticator", .timeLimit(.minutes(10))) struct OtherAuthenticatorTests {
    private struct Responses: Decodable {
        var registration: RegistrationResponse
        var authentication: AuthenticationResponse
    }

    @Test(
        "The fido2 library registers and authenticates with every algorithm",
        arguments: COSEKey.Algorithm.allCases,
        ["none", "packed"]
    )
    func otherImplementation(algorithm: COSEKey.Algorithm, format: String) async throws {
        let challenge = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
        let (status, output) = try await ProcessCommand(
            try await PythonPrograms.path("passkeys"),
            [
                "\(PythonPrograms.scripts)/passkey-authenticator.py", "\(algorithm.rawValue)", format, "example.org",
                "https://example.org", challenge,
            ],
            environment: ProcessInfo.processInfo.environment
        ).run(within: .seconds(60))
        try #require(status.isSuccess, "\(output)")
        let responses = try JSONDecoder().decode(Responses.self, from: Data(output.utf8))
        let party = RelyingParty(id: "example.org", origins: ["https://example.org"])

        #expect(try responses.registration.claimedChallenge == challenge)
        let made = try party.register(responses.registration, challenge: challenge)
        #expect(made.signCount == 1)
        #expect(made.isBackupEligible)
        #expect(!made.isBackedUp)
        #expect(try COSEKey(bytes: made.publicKey).algorithm == algorithm)
        let known = RelyingParty.KnownCredential(
            id: made.id,
            publicKey: made.publicKey,
            signCount: made.signCount,
            userHandle: Data("ada".utf8)
        )
        let seen = try party.authenticate(responses.authentication, challenge: challenge, by: known)
        #expect(seen.signCount == 2)

        var changed = responses.authentication
        changed.response.signature.bytes[changed.response.signature.bytes.count / 2] ^= 1
        #expect(throws: WebAuthnError.wrongSignature) {
            try party.authenticate(changed, challenge: challenge, by: known)
        }
    }
}
