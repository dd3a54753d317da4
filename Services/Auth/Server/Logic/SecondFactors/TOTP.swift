import Crypto
import Foundation

/// The time-based codes of authenticator apps (RFC 6238): HMAC-SHA-1, six digits, 30 seconds, the only variant that
/// every app supports.
struct TOTP: Sendable {
    /// Seconds for which a code is shown.
    static let period: TimeInterval = 30
    static let digits = 6
    /// In bytes; the length of HMAC-SHA-1's output, as RFC 4226 (section 4) recommends.
    static let secretSize = 20
    /// The accepted clock difference in periods, in both directions.
    static let tolerance: Int64 = 1

    let secret: Data

    static func random() -> TOTP {
        TOTP(secret: SymmetricKey(size: .init(bitCount: secretSize * 8)).withUnsafeBytes { Data($0) })
    }

    /// Returns the period of a code, if it is within the tolerance; otherwise nil.
    func period(of code: String, at now: Date) -> Int64? {
        guard code.utf8.count == Self.digits else { return nil }
        let current = Int64((now.timeIntervalSince1970 / Self.period).rounded(.down))
        var found: Int64?
        // All periods are compared, so that the time does not depend on the match.
        for period in current - Self.tolerance...current + Self.tolerance
        where zip(self.code(at: period).utf8, code.utf8).reduce(0, { $0 | ($1.0 ^ $1.1) }) == 0 {
            found = period
        }
        return found
    }

    /// Returns the code of a period (RFC 4226, section 5.3).
    func code(at period: Int64) -> String {
        let message = withUnsafeBytes(of: period.bigEndian) { Data($0) }
        let code = Array(HMAC<Insecure.SHA1>.authenticationCode(for: message, using: SymmetricKey(data: secret)))
        let offset = Int((code.last ?? 0) & 15)
        let number = code[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let digits = String(number % 1_000_000)
        return String(repeating: "0", count: Self.digits - digits.count) + digits
    }

    /// Returns the URI for a QR code, in Google Authenticator's key URI format.
    func uri(issuer: String, account: String) -> String {
        var parts = URLComponents()
        parts.scheme = "otpauth"
        parts.host = "totp"
        // The format separates issuer and account by a colon, so neither may contain one.
        parts.path = "/\(issuer.replacing(":", with: " ")):\(account.replacing(":", with: " "))"
        parts.queryItems = [
            URLQueryItem(name: "secret", value: Base32.encode(secret)), URLQueryItem(name: "issuer", value: issuer),
            URLQueryItem(name: "algorithm", value: "SHA1"), URLQueryItem(name: "digits", value: "\(Self.digits)"),
            URLQueryItem(name: "period", value: "\(Int(Self.period))"),
        ]
        return parts.string ?? ""
    }
}
