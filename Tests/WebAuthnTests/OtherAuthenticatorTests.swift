import COSE
import ChildProcesses
import Foundation
import TestSupport
import Testing
import WebAuthn

/// Against fido2, which others have written (scripts/passkey-authenticator.py).
@Suite(.timeLimit(.minutes(10))) struct OtherAuthenticatorTests {
    private struct Answers: Decodable {
        var registration: RegistrationResponse
        var authentication: AuthenticationResponse
    }

    @Test(arguments: COSEKey.Algorithm.allCases, ["none", "packed"])
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
        let answers = try JSONDecoder().decode(Answers.self, from: Data(output.utf8))
        let party = RelyingParty(id: "example.org", origins: ["https://example.org"])

        #expect(try answers.registration.claimedChallenge == challenge)
        let made = try party.register(answers.registration, challenge: challenge)
        #expect(made.signCount == 1 && made.isBackupEligible && !made.isBackedUp)
        #expect(try COSEKey(bytes: made.publicKey).algorithm == algorithm)
        let known = RelyingParty.KnownCredential(
            id: made.id,
            publicKey: made.publicKey,
            signCount: made.signCount,
            userHandle: Data("ada".utf8)
        )
        let seen = try party.authenticate(answers.authentication, challenge: challenge, by: known)
        #expect(seen.signCount == 2)

        var changed = answers.authentication
        changed.response.signature.bytes[changed.response.signature.bytes.count / 2] ^= 1
        #expect(throws: WebAuthnError.wrongSignature) {
            try party.authenticate(changed, challenge: challenge, by: known)
        }
    }
}
