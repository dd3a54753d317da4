import AuthAPI
import Foundation
import Messages

/// Renders mails: plain text, in few words, without a picture or a link but the one that was asked for.
struct EmailTemplates: Sendable {
    /// What a mail is about, as far as it is known when it is sent.
    struct Context: Sendable {
        var kind: Email.Kind
        /// The username of the account, if it has one.
        var username: String?
        /// The username that a verification mail names: of an account that the reader may not know.
        var unverifiedUsername: String?
        /// With its token.
        var link: String?
        /// Whether another account has verified the address already.
        var isTaken = false
        /// The language of the account's user; nil where none is known.
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

    /// Says which account asks for the address.
    ///
    /// The reader may be a stranger, so a username must not serve as an advertisement: only letters, digits, `-` and `_`
    /// are shown, which make no link.
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
    /// A mail to the user of an account, greeted by name and in the user's language.
    init(_ kind: Email.Kind, of account: Account, link: String? = nil, isTaken: Bool = false) {
        self.init(
            kind: kind,
            username: account.username,
            link: link,
            isTaken: isTaken,
            language: account.language
        )
    }

    /// As the keys of its texts have it.
    fileprivate var name: String {
        switch kind {
        case .verify: isTaken ? "taken" : "verify"
        case .recover: "recover"
        case .passwordChanged: "passwordChanged"
        case .emailChanged: "emailChanged"
        case .secondFactorOn: "secondFactorOn"
        case .secondFactorOff: "secondFactorOff"
        case .passkeyAdded: "passkeyAdded"
        case .identityLinked: "identityLinked"
        // Not which device: its name is what the client says of itself.
        case .newDeviceSignIn: "newDeviceSignIn"
        }
    }

    /// Whether the mail is about a change that may be an attacker's.
    fileprivate var isAboutChange: Bool { kind != .verify && kind != .recover }
}
