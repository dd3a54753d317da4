import CArgon2
import Foundation

/// Argon2id (RFC 9106) with hashes as PHC strings, by the reference library.
enum Argon2id {
    struct Parameters: Hashable, Sendable {
        /// In KiB.
        var memory: UInt32
        var passes: UInt32
        var lanes: UInt32

        /// OWASP's minimum: 19 MiB, two passes, one lane; 19–38 ms of one core.
        static let recommended = Parameters(memory: 19_456, passes: 2, lanes: 1)
    }

    /// An error code of the library.
    struct Failure: Error {
        let code: Int32
    }

    private static let saltSize = 16
    private static let hashSize = 32
    private static let maximumEncodedSize = 256

    static func hash(_ password: String, parameters: Parameters) throws -> String {
        var generator = SystemRandomNumberGenerator()
        let salt = (0..<saltSize).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        var encoded = [CChar](repeating: 0, count: maximumEncodedSize)
        var password = password
        let code = password.withUTF8 { password in
            argon2id_hash_encoded(
                parameters.passes,
                parameters.memory,
                parameters.lanes,
                password.baseAddress,
                password.count,
                salt,
                salt.count,
                hashSize,
                &encoded,
                encoded.count
            )
        }
        guard code == ARGON2_OK.rawValue else { throw Failure(code: code) }
        return String(decoding: encoded.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    static func verify(_ password: String, against encoded: String) throws -> Bool {
        var password = password
        let code = password.withUTF8 { argon2id_verify(encoded, $0.baseAddress, $0.count) }
        switch code {
        case ARGON2_OK.rawValue: return true
        case ARGON2_VERIFY_MISMATCH.rawValue: return false
        default: throw Failure(code: code)
        }
    }

    /// Returns the parameters of a PHC string, such as `$argon2id$v=19$m=19456,t=2,p=1$…`.
    static func parameters(of encoded: String) -> Parameters? {
        let parts = encoded.split(separator: "$")
        guard parts.count == 5, parts[0] == "argon2id", parts[1] == "v=19" else { return nil }
        var values: [Substring: UInt32] = [:]
        for setting in parts[2].split(separator: ",") {
            let pair = setting.split(separator: "=")
            guard pair.count == 2, let value = UInt32(pair[1]) else { return nil }
            values[pair[0]] = value
        }
        guard let memory = values["m"], let passes = values["t"], let lanes = values["p"] else { return nil }
        return Parameters(memory: memory, passes: passes, lanes: lanes)
    }
}
