import NIOCore
import NIOHTTP1

/// The pages that show notifications and mails as they arrive, with their scripts and styles.
struct PageFiles: Sendable {
    /// The content security policy: scripts and styles only from the sandbox, and images of notifications from any
    /// host.
    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src http: https: data:; \
        base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """

    private let pages: [String: WebResponse]

    init() {
        pages = [
            "/": Self.page(PackageResources.page_html, "text/html; charset=utf-8"),
            "/page.css": Self.page(PackageResources.page_css, "text/css; charset=utf-8"),
            "/mail": Self.page(PackageResources.mail_html, "text/html; charset=utf-8"),
            "/mail.css": Self.page(PackageResources.mail_css, "text/css; charset=utf-8"),
            "/mail.js": Self.page(PackageResources.mail_js, "text/javascript; charset=utf-8"),
            "/page.js": Self.page(PackageResources.page_js, "text/javascript; charset=utf-8"),
        ]
    }

    func page(at path: String) -> WebResponse? { pages[path] }

    private static func page(_ bytes: [UInt8], _ type: String) -> WebResponse {
        let headers: HTTPHeaders = [
            "content-type": type, "content-security-policy": policy, "referrer-policy": "no-referrer",
            "cache-control": "no-cache",
        ]
        return WebResponse(.ok, headers: headers, body: ByteBuffer(bytes: bytes))
    }
}
