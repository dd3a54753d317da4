import Crypto
import CryptoExtras
public import Foundation

/// A public key in COSE (RFC 9052, section 7), for verifying signatures of authenticators.
public struct COSEKey: Sendable {
    /// The supported algorithms, with their numbers in IANA's registry of COSE algorithms.
    public enum Algorithm: Int, CaseIterable, Sendable {
        /// ECDSA on P-256 with SHA-256.
        case es256 = -7
        /// Ed25519.
        case edDSA = -8
        /// RSASSA-PKCS1-v1_5 with SHA-256, used by Windows Hello.
        case rs256 = -257
    }

    /// The error of an invalid key or an unsupported algorithm.
    public struct Unusable: Error {}

    private enum Key: Sendable {
        case es256(P256.Signing.PublicKey)
        case edDSA(Curve25519.Signing.PublicKey)
        case rs256(_RSA.Signing.PublicKey)
    }

    /// The algorithm of the key's signatures.
    public let algorithm: Algorithm
    private let key: Key

    // RFC 9053, sections 7.1 and 7.2; RFC 8230, section 4.
    private static let keyTypeLabel = 1
    private static let algorithmLabel = 3
    private static let octetKeyPairType = 1
    private static let ellipticCurveType = 2
    private static let rsaType = 3

    /// Creates a key from a decoded COSE map.
    ///
    /// - Throws: `Unusable`, also if a point is not on its curve.
    public init(_ value: CBORValue) throws {
        guard let number = value[Self.algorithmLabel]?.int, let algorithm = Algorithm(rawValue: number) else {
            throw Unusable()
        }
        self.algorithm = algorithm
        do {
            key =
                switch algorithm {
                case .es256: .es256(try Self.p256Key(value))
                case .edDSA: .edDSA(try Self.ed25519Key(value))
                case .rs256: .rs256(try Self.rsaKey(value))
                }
        } catch {
            throw Unusable()
        }
    }

    /// Decodes a key that takes all bytes.
    ///
    /// - Throws: `Unusable`.
    public init(bytes: Data) throws {
        guard let value = try? CBORDecoder.decode(bytes) else { throw Unusable() }
        try self.init(value)
    }

    /// Returns whether the signature of the data is valid; an ECDSA signature is in DER, as in WebAuthn (level 2,
    /// section 6.5.5).
    public func isValid(signature: Data, for data: Data) -> Bool {
        switch key {
        case .es256(let key):
            guard let signature = try? P256.Signing.ECDSASignature(derRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: data)
        case .edDSA(let key): return key.isValidSignature(signature, for: data)
        case .rs256(let key):
            let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
            return key.isValidSignature(signature, for: data, padding: .insecurePKCS1v1_5)
        }
    }

    private static func p256Key(_ value: CBORValue) throws -> P256.Signing.PublicKey {
        guard value[keyTypeLabel]?.int == ellipticCurveType, value[-1]?.int == 1, let x = value[-2]?.bytes,
            x.count == 32, let y = value[-3]?.bytes, y.count == 32
        else { throw Unusable() }
        return try P256.Signing.PublicKey(x963Representation: Data([4]) + x + y)
    }

    private static func ed25519Key(_ value: CBORValue) throws -> Curve25519.Signing.PublicKey {
        guard value[keyTypeLabel]?.int == octetKeyPairType, value[-1]?.int == 6, let x = value[-2]?.bytes,
            x.count == 32
        else { throw Unusable() }
        return try Curve25519.Signing.PublicKey(rawRepresentation: x)
    }

    /// Accepts 2,048 to 4,096 bits: shorter keys are insecure, longer ones make verification too expensive.
    private static func rsaKey(_ value: CBORValue) throws -> _RSA.Signing.PublicKey {
        guard value[keyTypeLabel]?.int == rsaType, let n = value[-1]?.bytes, (256...512).contains(n.count),
            n.first != 0, let e = value[-2]?.bytes, (1...4).contains(e.count), let last = e.last, last & 1 == 1,
            e != Data([1])
        else { throw Unusable() }
        return try _RSA.Signing.PublicKey(n: n, e: e)
    }
}
