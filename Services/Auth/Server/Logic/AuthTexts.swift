import Messages
import ServiceHost

/// The texts of emails and pages in all languages.
struct AuthTexts: Sendable {
    static let embedded: [String: [UInt8]] = [
        "de": PackageResources.de_json, "en": PackageResources.en_json, "es": PackageResources.es_json,
        "fr": PackageResources.fr_json, "ja": PackageResources.ja_json, "pt": PackageResources.pt_json,
    ]

    private let catalogues: MessageCatalogues

    /// Loads the built-in catalogs and those in `folder`/auth.
    ///
    /// - Throws: `SettingError` for `MESSAGES_PATH` if a file is invalid.
    init(folder: String? = nil) throws {
        do {
            catalogues = try MessageCatalogues(
                embedded: Self.embedded,
                folder: folder,
                service: AuthService.name
            )
        } catch {
            throw SettingError("MESSAGES_PATH", "contains an invalid file: \(error)")
        }
    }

    var languages: [LanguageTag] { catalogues.languages }

    /// Returns the language of a new user, from the client's `Accept-Language` header.
    func preferred(accepting header: String?) -> LanguageTag? {
        header.flatMap { catalogues.preferred(among: AcceptLanguage.languages(in: $0)) }
    }

    /// Returns the language of a page, from the browser's `Accept-Language` header.
    func language(accepting header: String?) -> LanguageTag {
        catalogues.match(header.map { AcceptLanguage.languages(in: $0) } ?? [])
    }

    func language(of user: String?) -> LanguageTag {
        catalogues.match(user.flatMap { LanguageTag($0) }.map { [$0] } ?? [])
    }

    func text(_ key: String, _ arguments: [String: String] = [:], in language: LanguageTag) -> String {
        catalogues.text(key, arguments.mapValues { .text($0) }, in: language)
    }
}
