import Foundation
import Messages
import PushAPI
import PushProviders
import ServiceHost
import Wire

/// The texts of notifications in all languages.
struct PushTexts: Sendable {
    /// The built-in catalogues by their languages.
    static let embedded: [String: [UInt8]] = [
        "de": PackageResources.de_json, "en": PackageResources.en_json, "es": PackageResources.es_json,
        "fr": PackageResources.fr_json, "ja": PackageResources.ja_json, "pt": PackageResources.pt_json,
    ]

    private let catalogues: MessageCatalogues

    /// Loads the embedded catalogues and those in `folder`/push.
    ///
    /// - Throws: `SettingError` for `MESSAGES_PATH` where a file cannot be used.
    init(folder: String? = nil) throws {
        do {
            catalogues = try MessageCatalogues(
                embedded: Self.embedded,
                folder: folder,
                service: PushService.name
            )
        } catch {
            throw SettingError("MESSAGES_PATH", "holds a file that cannot be used: \(error)")
        }
    }

    /// Returns the language for a device: its own if there are texts in it, else its user's, else English.
    func language(device: String?, user: String?) -> LanguageTag {
        catalogues.match([device, user].compactMap { $0.flatMap { LanguageTag($0) } })
    }

    /// Returns a text; nil for a key that this release does not know.
    func text(_ text: NotificationText, in language: LanguageTag = .english) -> String? {
        guard catalogues.keys.contains(text.key) else { return nil }
        return catalogues.text(text.key, text.messageArguments, in: language)
    }

    /// Returns what a device finds its own translation by; nil for a key that this release does not know.
    func localization(of text: NotificationText, in language: LanguageTag) -> PushMessage.Localization? {
        catalogues.localizedKey(text.key, text.messageArguments, in: language).map {
            PushMessage.Localization(key: $0.key, arguments: $0.arguments)
        }
    }
}

extension NotificationText {
    fileprivate var messageArguments: [String: MessageArgument] {
        arguments.mapValues { argument in
            switch argument {
            case .text(let text): .text(text)
            case .number(let number): .number(number)
            case .message(let key): .message(key)
            }
        }
    }
}

extension NotificationText {
    /// As the table `notifications` keeps it.
    var encoded: String {
        get throws { String(decoding: try WireJSON.encoder().encode(self), as: UTF8.self) }
    }

    /// Nil for nothing.
    init?(encoded text: String?) throws {
        guard let text else { return nil }
        self = try WireJSON.decoder().decode(NotificationText.self, from: Data(text.utf8))
    }
}
