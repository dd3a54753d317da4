import Foundation
import Messages
import PushAPI
import PushProviders
import ServiceHost
import Wire

struct PushTexts: Sendable {
    static let embedded: [String: [UInt8]] = [
        "de": PackageResources.de_json, "en": PackageResources.en_json, "es": PackageResources.es_json,
        "fr": PackageResources.fr_json, "ja": PackageResources.ja_json, "pt": PackageResources.pt_json,
    ]

    private let catalogues: MessageCatalogues

    /// Loads the embedded catalogues and those in `folder`/push.
    ///
    /// - Throws: `SettingError` for `MESSAGES_PATH` if a file is invalid.
    init(folder: String? = nil) throws {
        do {
            catalogues = try MessageCatalogues(
                embedded: Self.embedded,
                folder: folder,
                service: PushService.name
            )
        } catch {
            throw SettingError("MESSAGES_PATH", "contains an invalid file: \(error)")
        }
    }

    /// Returns the device's language if there are texts in it, else the user's, else English.
    func language(device: String?, user: String?) -> LanguageTag {
        catalogues.match([device, user].compactMap { $0.flatMap { LanguageTag($0) } })
    }

    /// Returns a text; nil for a key that this release does not have.
    func text(_ text: NotificationText, in language: LanguageTag = .english) -> String? {
        guard catalogues.keys.contains(text.key) else { return nil }
        return catalogues.text(text.key, text.messageArguments, in: language)
    }

    /// Returns the key and arguments with which an app translates a text; nil for a key that this release does not
    /// have.
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
    var encoded: String {
        get throws { String(decoding: try WireJSON.encoder().encode(self), as: UTF8.self) }
    }

    init?(encoded text: String?) throws {
        guard let text else { return nil }
        self = try WireJSON.decoder().decode(NotificationText.self, from: Data(text.utf8))
    }
}
