import Foundation
import Testing

@testable import AuthServer

/// One-time codes and recovery codes, with the examples of the standards.
@Suite("One-time codes") struct TOTPTests {
    /// RFC 6238, appendix B, in six digits.
    @Test(
        "Codes are those of RFC 6238",
        arguments: [
            (59, "287082"), (1_111_111_109, "081804"), (1_111_111_111, "050471"), (1_234_567_890, "005924"),
            (2_000_000_000, "279037"), (20_000_000_000, "353130"),
        ] as [(Double, String)]
    )
    func rfcVectors(time: Double, code: String) {
        let totp = TOTP(secret: Data("12345678901234567890".utf8))
        #expect(totp.code(at: Int64(time / TOTP.period)) == code)
        #expect(totp.period(of: code, at: Date(timeIntervalSince1970: time)) == Int64(time / TOTP.period))
        #expect(totp.period(of: "\(code)0", at: Date(timeIntervalSince1970: time)) == nil)
    }

    /// RFC 4648, section 10, without the padding.
    @Test(
        "Base32 is that of RFC 4648",
        arguments: [("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foobar", "MZXW6YTBOI")]
    )
    func base32Vectors(text: String, encoded: String) {
        #expect(Base32.encode(Data(text.utf8)) == encoded)
    }

    @Test("The URI for apps names issuer, account and parameters")
    func provisioningURI() throws {
        let totp = TOTP(secret: Data(repeating: 0, count: 20))
        let parts = try #require(URLComponents(string: totp.uri(issuer: "Ro:ost & Co", account: "ada/b ü")))
        #expect(parts.scheme == "otpauth")
        #expect(parts.host == "totp")
        #expect(parts.path == "/Ro ost & Co:ada/b ü")
        let items = Dictionary(uniqueKeysWithValues: (parts.queryItems ?? []).map { ($0.name, $0.value ?? "") })
        #expect(items["secret"] == String(repeating: "A", count: 32))
        #expect(items["issuer"] == "Ro:ost & Co")
        #expect(items["digits"] == "6")
        #expect(items["period"] == "30")
        #expect(items["algorithm"] == "SHA1")
    }

    @Test(
        "A malformed recovery code is refused",
        arguments: ["", "ABCD", "ABCD-EFGH-IJKL-MNO", "ABCD-EFGH-IJKL-MNOPQ", String(repeating: "-", count: 80)]
    )
    func malformedRecoveryCode(_ text: String) {
        #expect(RecoveryCode(typed: text) == nil)
    }
}
