import AuthAPI
import Foundation
import Messages

/// Renders emails as short plain text, without pictures, and with no link but the requested one.
struct EmailTemplates: Sendable {
    struct Context: Sendable {
        var kind: Email.Kind
        var username: String?
        /// The username that a verification email names; the reader may not know this account.
        var unverifiedUsername: String?
        /// The link, with its token.
        var link: String?
        /// Whether another account has already verified the address.
        var isTaken = false
        /// The language of the account's user; nil if unknown.
        var language: String?
    }

    let appName: String
    let texts: AuthTexts

    func subject(_ context: Context) -> String {
        text("mail.\(context.name).subject", ["app": appName], of: context)
    }

    func text(_ context: Context) -> String {
        var paragraphs = [
            context.username.map { text("mail.greetingNamed", ["username": $0], of: context) }
                ?? text("mail.greeting", of: context)
        ]
        var arguments = ["app": appName, "link": context.link ?? ""]
        if context.kind == .verify { arguments["claim"] = claim(context) }
        paragraphs.append(text("mail.\(context.name).text", arguments, of: context))
        if context.isAboutChange { paragraphs.append(text("mail.warning", of: context)) }
        return paragraphs.joined(separator: "\n\n") + "\n"
    }

    /// Renders which account claims the address.
    ///
    /// The reader may be a stranger, so a username must not carry an advertisement or a link. All characters but
    /// letters, digits, `-` and `_` are replaced.
    private func claim(_ context: Context) -> String {
        guard let username = context.unverifiedUsername else {
            return text("mail.verify.claim", ["app": appName], of: context)
        }
        let shown = String(username.map { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" ? $0 : "·" }.prefix(32))
        return text("mail.verify.claimNamed", ["username": shown, "app": appName], of: context)
    }

    private func text(_ key: String, _ arguments: [String: String] = [:], of context: Context) -> String {
        texts.text(key, arguments, in: texts.language(of: context.language))
    }
}

extension EmailTemplates.Context {
    /// Creates the context of an email to the user of an account, with a greeting by name and in the user's language.
    init(_ kind: Email.Kind, of account: Account, link: String? = nil, isTaken: Bool = false) {
        self.init(
            kind: kind,
            username: account.username,
            link: link,
            isTaken: isTaken,
            language: account.language
        )
    }

    /// The name of the email in the keys of its texts.
    fileprivate var name: String {
        switch kind {
        case .verify: isTaken ? "taken" : "verify"
        case .passwordReset: "passwordReset"
        case .passwordChanged: "passwordChanged"
        case .emailChanged: "emailChanged"
        case .secondFactorOn: "secondFactorOn"
        case .secondFactorOff: "secondFactorOff"
        case .passkeyAdded: "passkeyAdded"
        case .identityLinked: "identityLinked"
        // The text does not name the device, because its name is unverified client input.
        case .newDeviceSignIn: "newDeviceSignIn"
        }
    }

    /// Whether the email reports a change that an attacker may have made.
    fileprivate var isAboutChange: Bool { kind != .verify && kind != .passwordReset }
}
