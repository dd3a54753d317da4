import Crypto
import Foundation

/// Codes that an authenticator app makes of a shared secret and the time (RFC 6238): HMAC-SHA-1, six digits, 30 seconds,
/// the one form that every app takes.
struct TOTP: Sendable {
    /// Seconds that a code is shown.
    static let period: TimeInterval = 30
    static let digits = 6
    /// Bytes; as long as HMAC-SHA-1's output, as RFC 4226 (section 4) recommends.
    static let secretSize = 20
    /// How many periods a phone's clock may be off, to either side.
    static let tolerance: Int64 = 1

    let secret: Data

    static func random() -> TOTP {
        TOTP(secret: SymmetricKey(size: .init(bitCount: secretSize * 8)).withUnsafeBytes { Data($0) })
    }

    /// The period that a code is of, if it is one of now or next to it; nil for any other.
    func period(of code: String, at now: Date) -> Int64? {
        guard code.utf8.count == Self.digits else { return nil }
        let current = Int64((now.timeIntervalSince1970 / Self.period).rounded(.down))
        var found: Int64?
        // All are compared, whichever fits.
        for period in current - Self.tolerance...current + Self.tolerance
        where zip(self.code(at: period).utf8, code.utf8).reduce(0, { $0 | ($1.0 ^ $1.1) }) == 0 {
            found = period
        }
        return found
    }

    /// The code of a period (RFC 4226, section 5.3).
    func code(at period: Int64) -> String {
        let message = withUnsafeBytes(of: period.bigEndian) { Data($0) }
        let code = Array(HMAC<Insecure.SHA1>.authenticationCode(for: message, using: SymmetricKey(data: secret)))
        let offset = Int((code.last ?? 0) & 15)
        let number = code[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let digits = String(number % 1_000_000)
        return String(repeating: "0", count: Self.digits - digits.count) + digits
    }

    /// For a QR code, as apps read it (Google Authenticator's key URI format).
    func uri(issuer: String, account: String) -> String {
        var parts = URLComponents()
        parts.scheme = "otpauth"
        parts.host = "totp"
        // A colon parts the two.
        parts.path = "/\(issuer.replacing(":", with: " ")):\(account.replacing(":", with: " "))"
        parts.queryItems = [
            URLQueryItem(name: "secret", value: Base32.encode(secret)), URLQueryItem(name: "issuer", value: issuer),
            URLQueryItem(name: "algorithm", value: "SHA1"), URLQueryItem(name: "digits", value: "\(Self.digits)"),
            URLQueryItem(name: "period", value: "\(Int(Self.period))"),
        ]
        return parts.string ?? ""
    }
}
