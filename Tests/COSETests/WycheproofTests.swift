import COSE
import Foundation
import TestSupport
import Testing

@Suite("Wycheproof signature vectors", .enabled(if: Wycheproof.folder != nil)) struct WycheproofTests {
    @Test(
        "Signatures are valid exactly where Wycheproof says so",
        arguments: [
            "ecdsa_secp256r1_sha256", "ed25519", "rsa_signature_2048_sha256", "rsa_signature_3072_sha256",
            "rsa_signature_4096_sha256",
        ]
    )
    func vectors(file: String) throws {
        let groups: [Group] = try Wycheproof.groups(file)
        #expect(!groups.isEmpty)
        for group in groups {
            let key = try COSEKey(group.publicKey.cose)
            for vector in group.tests where vector.result != .acceptable {
                let isValid = key.isValid(signature: hex(vector.sig), for: hex(vector.msg))
                #expect(isValid == (vector.result == .valid), "\(file) \(vector.tcId): \(vector.comment)")
            }
        }
    }
}

private struct Group: Decodable {
    struct Vector: Decodable {
        let tcId: Int
        let comment: String
        let msg: String
        let sig: String
        let result: Wycheproof.Expectation
    }

    /// The hexadecimal numbers of a P-256, Ed25519 or RSA key.
    struct Key: Decodable {
        let uncompressed: String?
        let pk: String?
        let modulus: String?
        let publicExponent: String?

        var cose: CBORValue {
            if let point = uncompressed.map(hex) {
                return key(type: 2, .es256, [-1: CBORValue(1), -2: .bytes(point[1...32]), -3: .bytes(point[33...])])
            }
            if let pk { return key(type: 1, .edDSA, [-1: CBORValue(6), -2: .bytes(hex(pk))]) }
            return key(type: 3, .rs256, [-1: number(modulus), -2: number(publicExponent)])
        }

        private func key(type: Int, _ algorithm: COSEKey.Algorithm, _ more: [Int: CBORValue]) -> CBORValue {
            let all = more.merging([1: CBORValue(type), 3: CBORValue(algorithm.rawValue)]) { $1 }
            return .map(Dictionary(uniqueKeysWithValues: all.map { (CBORValue($0.key), $0.value) }))
        }

        /// A number without leading zeros, as COSE requires.
        private func number(_ text: String?) -> CBORValue { .bytes(Data(hex(text ?? "").drop { $0 == 0 })) }
    }

    let publicKey: Key
    let tests: [Vector]
}
