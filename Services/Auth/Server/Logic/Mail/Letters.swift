import AuthAPI
import Foundation
import Messages

/// Renders mails: plain text, in few words, without a picture or a link but the one that was asked for.
struct Letters: Sendable {
    /// What a mail is about, as far as it is known when it is sent.
    struct Occasion: Sendable {
        var kind: Mail.Kind
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

    func subject(_ occasion: Occasion) -> String {
        text("mail.\(occasion.name).subject", ["app": appName], of: occasion)
    }

    func text(_ occasion: Occasion) -> String {
        var paragraphs = [
            occasion.username.map { text("mail.greetingNamed", ["username": $0], of: occasion) }
                ?? text("mail.greeting", of: occasion)
        ]
        var arguments = ["app": appName, "link": occasion.link ?? ""]
        if occasion.kind == .verify { arguments["claim"] = claim(occasion) }
        paragraphs.append(text("mail.\(occasion.name).text", arguments, of: occasion))
        if occasion.isAboutChange { paragraphs.append(text("mail.warning", of: occasion)) }
        return paragraphs.joined(separator: "\n\n") + "\n"
    }

    /// Says which account asks for the address.
    ///
    /// The reader may be a stranger, so a username must not serve as an advertisement: only letters, digits, `-` and `_`
    /// are shown, which make no link.
    private func claim(_ occasion: Occasion) -> String {
        guard let username = occasion.unverifiedUsername else {
            return text("mail.verify.claim", ["app": appName], of: occasion)
        }
        let shown = String(username.map { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" ? $0 : "·" }.prefix(32))
        return text("mail.verify.claimNamed", ["username": shown, "app": appName], of: occasion)
    }

    private func text(_ key: String, _ arguments: [String: String] = [:], of occasion: Occasion) -> String {
        texts.text(key, arguments, in: texts.language(of: occasion.language))
    }
}

extension Letters.Occasion {
    /// A mail to the user of an account, greeted by name and in the user's language.
    init(_ kind: Mail.Kind, of account: Account, link: String? = nil, isTaken: Bool = false) {
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
