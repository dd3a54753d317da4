import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import Messages
import NIOCore

/// The page that email links open if the client app has no page of its own, in each language.
///
/// A GET changes nothing, because mail scanners follow every link; only the page's button does.
struct EmailLinkPage: Sendable {
    private let texts: AuthTexts
    private let pages: [LanguageTag: ByteBuffer]
    private let policy: String

    init(texts: AuthTexts) {
        self.texts = texts
        let template = String(decoding: PackageResources.link_html, as: UTF8.self)
        var pages: [LanguageTag: ByteBuffer] = [:]
        for language in texts.languages {
            pages[language] = ByteBuffer(string: Self.page(template, texts, in: language))
        }
        self.pages = pages
        // Allows only the page's own script and style, and requests only to its own origin. Neither contains text, so
        // all languages share the hashes.
        policy = """
            default-src 'none'; script-src \(Self.source("script", of: template)); \
            style-src \(Self.source("style", of: template)); \
            connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
            """
    }

    func response(to request: Request) -> Response {
        let language = texts.language(accepting: request.headers[.acceptLanguage])
        let body = pages[language] ?? ByteBuffer()
        return Response(
            status: .ok,
            headers: [
                .contentType: "text/html; charset=utf-8", .contentLength: "\(body.readableBytes)",
                .contentLanguage: language.description, .vary: "Accept-Language",
                .contentSecurityPolicy: policy, .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
            ],
            body: ResponseBody(byteBuffer: body)
        )
    }

    /// Replaces each `%%key%%` of the template by its text, and `%%lang%%` by the language.
    private static func page(_ template: String, _ texts: AuthTexts, in language: LanguageTag) -> String {
        template.components(separatedBy: "%%").enumerated().reduce(into: "") { page, part in
            guard part.offset % 2 == 1 else {
                page += part.element
                return
            }
            page += escaped(part.element == "lang" ? language.description : texts.text(part.element, in: language))
        }
    }

    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { escaped, character in
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            default: escaped.append(character)
            }
        }
    }

    /// Returns the CSP level 2 source of an inline element: the hash of the content between its tags.
    static func source(_ element: String, of page: String) -> String {
        guard let begin = page.range(of: "<\(element)>"), let end = page.range(of: "</\(element)>") else {
            return "'none'"
        }
        let hash = SHA256.hash(data: Data(page[begin.upperBound..<end.lowerBound].utf8))
        return "'sha256-\(Data(hash).base64EncodedString())'"
    }
}
