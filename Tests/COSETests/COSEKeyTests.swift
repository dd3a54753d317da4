import COSE
import Crypto
import CryptoExtras
import Foundation
import TestSupport
import Testing

@Suite("COSE keys") struct COSEKeyTests {
    static let rsa = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    static func authenticators() throws -> [SoftwareAuthenticator] {
        [
            SoftwareAuthenticator(key: .es256(P256.Signing.PrivateKey())),
            SoftwareAuthenticator(key: .edDSA(Curve25519.Signing.PrivateKey())),
            SoftwareAuthenticator(key: .rs256(try rsa.get())),
        ]
    }

    @Test("A signature is valid only for its own key and data")
    func signatures() throws {
        let data = Data("what was signed".utf8)
        let all = try Self.authenticators()
        for (index, authenticator) in all.enumerated() {
            let key = try COSEKey(bytes: Data(authenticator.publicKey.encoded))
            #expect(key.algorithm.rawValue == authenticator.algorithm)
            let signature = try authenticator.sign(data)
            #expect(key.isValid(signature: signature, for: data))
            #expect(!key.isValid(signature: signature, for: data + [0]))
            for bit in [0, signature.count / 2, signature.count - 1] {
                var wrong = signature
                wrong[bit] ^= 1
                #expect(!key.isValid(signature: wrong, for: data))
            }
            for wrong in [Data(), Data([0]), signature + [0], signature.dropLast(), Data(count: signature.count)] {
                #expect(!key.isValid(signature: Data(wrong), for: data))
            }
            let other = try COSEKey(all[(index + 1) % all.count].publicKey)
            #expect(!other.isValid(signature: signature, for: data))
        }
    }

    /// CVE-2022-21449: a signature with r and s of zero was valid for all data.
    @Test("A signature of zeros is invalid")
    func zeroSignature() throws {
        let key = try COSEKey(SoftwareAuthenticator().publicKey)
        #expect(!key.isValid(signature: Data([0x30, 6, 2, 1, 0, 2, 1, 0]), for: Data()))
    }

    private func changed(_ value: CBORValue, _ label: Int, _ new: CBORValue?) -> CBORValue {
        var map = value.map ?? [:]
        map[CBORValue(label)] = new
        return .map(map)
    }

    @Test("A malformed or unsupported key is rejected")
    func malformedKeys() throws {
        let defects: [[(Int, CBORValue?)]] = [
            // P-256: wrong type, algorithm or curve, and points that are not on the curve.
            [
                (1, nil), (1, CBORValue(1)), (3, nil), (3, CBORValue(-8)), (3, CBORValue(-35)), (3, CBORValue(-257)),
                (-1, CBORValue(2)), (-1, nil), (-2, .bytes(Data(count: 32))), (-2, .bytes(Data(count: 31))),
                (-3, .bytes(Data(repeating: 255, count: 32))), (-3, .bool(true)), (-3, nil),
            ],
            // Ed25519.
            [
                (1, CBORValue(2)), (-1, CBORValue(4)), (-1, nil), (-2, .bytes(Data(count: 33))), (-2, nil),
                (3, CBORValue(-7)),
            ],
            // RSA: moduli that are too small or too large, and invalid exponents.
            [
                (1, CBORValue(2)), (-1, .bytes(Data(repeating: 255, count: 128))),
                (-1, .bytes(Data(repeating: 255, count: 513))), (-1, .bytes(Data(count: 256))),
                (-1, nil), (-2, .bytes(Data([1]))), (-2, .bytes(Data([2]))), (-2, .bytes(Data(count: 5))), (-2, nil),
                (3, CBORValue(-37)),
            ],
        ]
        for (authenticator, defects) in zip(try Self.authenticators(), defects) {
            for (label, value) in defects {
                let key = changed(authenticator.publicKey, label, value)
                #expect(throws: COSEKey.Unusable.self, "\(label): \(String(describing: value))") { try COSEKey(key) }
            }
        }
        for value in [CBORValue.null, .map([:]), .array([]), CBORValue(1)] {
            #expect(throws: COSEKey.Unusable.self) { try COSEKey(value) }
        }
        let behind = Data(SoftwareAuthenticator().publicKey.encoded) + [0]
        #expect(throws: COSEKey.Unusable.self) { try COSEKey(bytes: behind) }
    }
}
