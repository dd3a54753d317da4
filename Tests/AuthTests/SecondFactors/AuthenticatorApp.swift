import AuthAPI
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// An authenticator app with a user's second factor.
struct AuthenticatorApp: Sendable {
    let clock: TestClock
    let totp: TOTP
    let recoveryCodes: [String]

    /// The code that the app shows after this number of periods.
    func code(in periods: Int64 = 0) -> String {
        totp.code(at: Int64(clock.now.timeIntervalSince1970 / TOTP.period) + periods)
    }
}

extension Auth {
    /// Sets an app up for a user.
    ///
    /// Confirming uses the current code, so the clock advances by a minute.
    func addApp(of person: Person, at clock: TestClock) async throws -> AuthenticatorApp {
        let begun = try await service.send(.post, "/auth/mfa/totp", token: person.jwt)
        let totp = TOTP(secret: decode(base32: try begun.decode(NewTOTP.self).secret))
        let code = AuthenticatorApp(clock: clock, totp: totp, recoveryCodes: []).code()
        let confirmed = try await post("/auth/mfa/totp/confirm", json(["code": .string(code)]), token: person.jwt)
        try #require(confirmed.status == 200, "\(confirmed.text)")
        clock.advance(seconds: 60)
        let codes = try confirmed.decode(RecoveryCodes.self).recoveryCodes
        return AuthenticatorApp(clock: clock, totp: totp, recoveryCodes: codes)
    }

    /// Completes a sign-in that needs a code.
    func finish(_ challenge: String?, _ code: String) async throws -> TestHTTPResponse {
        try await post("/auth/login/mfa", json(["challenge": .string(challenge ?? ""), "code": .string(code)]))
    }
}

/// Decodes Base32 like an authenticator app.
func decode(base32 text: String) -> Data {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
    let bits = text.flatMap { letter -> String in
        let digits = String(alphabet.firstIndex(of: letter) ?? 0, radix: 2)
        return String(repeating: "0", count: 5 - digits.count) + digits
    }
    return Data(
        stride(from: 0, to: bits.count / 8 * 8, by: 8).compactMap { UInt8(String(bits[$0..<$0 + 8]), radix: 2) }
    )
}
