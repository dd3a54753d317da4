import Foundation
import SMTP

/// What mails say: plain text, in few words, without a picture or a link but the one that is asked for.
struct Letters: Sendable {
    /// What a mail is about, as far as it is known when it is sent.
    struct Occasion: Sendable {
        var kind: Mail.Kind
        /// How the account is called: its username, or nothing.
        var username: String?
        /// The username that a verification mail names: of an account that the reader may not know.
        var unverifiedUsername: String?
        /// With its token.
        var link: String?
        /// Whether somebody else has verified the address already.
        var isTaken = false
    }

    let appName: String

    func subject(_ occasion: Occasion) -> String {
        switch occasion.kind {
        case .verify where occasion.isTaken: "You have an account at \(appName) already"
        case .verify: "Is this your address? \(appName) would like to know"
        case .recover: "A new password for \(appName)"
        case .passwordChanged: "Your password at \(appName) was changed"
        case .emailChanged: "Your address at \(appName) was changed"
        case .secondFactorOn: "Signing in to \(appName) now takes a code"
        case .secondFactorOff: "Signing in to \(appName) no longer takes a code"
        case .identityLinked: "Another way to sign in to \(appName) was added to your account"
        case .passkeyAdded: "A passkey was added to your account at \(appName)"
        case .deviceNoticed: "Somebody signed in to \(appName) on a new device"
        }
    }

    func text(_ occasion: Occasion) -> String {
        let greeting = occasion.username.map { "Hello \($0),\n\n" } ?? "Hello,\n\n"
        return greeting + body(occasion) + "\n"
    }

    private func body(_ occasion: Occasion) -> String {
        switch occasion.kind {
        case .verify where occasion.isTaken:
            """
            somebody, perhaps you, gave this address for an account at \(appName). It belongs to your account already,
            so nothing has changed. If you forgot your password, ask for a new one.

            If it was not you, there is nothing to do.
            """
        case .verify:
            """
            open this link to say that this address is yours. It works once, for a day:

            \(occasion.link ?? "")

            \(Self.claim(occasion.unverifiedUsername, appName))
            If that is not your account, do not open the link, and nothing will happen.
            """
        case .recover:
            """
            open this link to choose a new password. It works once, for an hour:

            \(occasion.link ?? "")

            If you did not ask for it, there is nothing to do: your password stays as it is. Nobody at \(appName) will
            ever ask you for this link.
            """
        case .passwordChanged: Self.done("your password was changed, and you are signed out everywhere else.")
        case .emailChanged: Self.done("your account has another address now, and this one is no longer used.")
        case .secondFactorOn:
            Self.done("signing in now takes a code of your authenticator app too. Keep the recovery codes safe.")
        case .secondFactorOff: Self.done("signing in no longer takes a code of an authenticator app.")
        case .identityLinked:
            Self.done(
                """
                signing in with an account elsewhere, such as Google or Apple, was added to your account. If this address
                had been confirmed from outside the account only, the account's password, passkeys and sessions from before
                have ended.
                """
            )
        case .passkeyAdded: Self.done("a passkey was added: whoever has it can sign in to your account.")
        // Not which device: what it calls itself is somebody else's to say.
        case .deviceNoticed: Self.done("somebody signed in to your account on a device that is new to it.")
        }
    }

    /// Says which account asks for the address.
    ///
    /// The reader may be a stranger, so a username must not serve as an advertisement: only letters, digits, `-` and `_`
    /// are shown, which make no link.
    private static func claim(_ username: String?, _ appName: String) -> String {
        guard let username else { return "An account at \(appName) without a username asks for it." }
        let shown = String(username.map { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" ? $0 : "·" }.prefix(32))
        return "The account \"\(shown)\" at \(appName) asks for it."
    }

    private static func done(_ text: String) -> String {
        """
        \(text)

        If it was not you, choose a new password at once, and look at the devices that are signed in.
        """
    }
}
