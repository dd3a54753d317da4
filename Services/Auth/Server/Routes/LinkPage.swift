import Crypto
import Foundation
import Hummingbird
import NIOCore

/// The page that a link in a mail leads to where no app has one of its own.
///
/// Looking at it changes nothing, as programs do that look at every link in a mail; its button does.
struct LinkPage: Sendable {
    private let body: ByteBuffer
    private let policy: String

    init() {
        let text = String(decoding: PackageResources.link_html, as: UTF8.self)
        body = ByteBuffer(string: text)
        // Its own script and style and nothing else, and only to where it came from.
        policy = """
            default-src 'none'; script-src \(Self.source("script", of: text)); style-src \(Self.source("style", of: text)); \
            connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
            """
    }

    func response() -> Response {
        Response(
            status: .ok,
            headers: [
                .contentType: "text/html; charset=utf-8", .contentLength: "\(body.readableBytes)",
                .contentSecurityPolicy: policy, .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
            ],
            body: ResponseBody(byteBuffer: body)
        )
    }

    /// What a policy names an inline element by (CSP level 2): the hash of what is between its tags.
    static func source(_ element: String, of page: String) -> String {
        guard let begin = page.range(of: "<\(element)>"), let end = page.range(of: "</\(element)>") else {
            return "'none'"
        }
        let hash = SHA256.hash(data: Data(page[begin.upperBound..<end.lowerBound].utf8))
        return "'sha256-\(Data(hash).base64EncodedString())'"
    }
}
