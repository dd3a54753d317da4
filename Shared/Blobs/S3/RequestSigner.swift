import Crypto
import Foundation
import Glibc
import NIOCore

/// Signs S3 requests with AWS Signature Version 4
/// (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
struct RequestSigner: Sendable {
    let region: String
    let accessKey: String
    let secretKey: String

    /// The signed parts of a request.
    struct Signed {
        var method: String
        /// The path as in the URL; S3 does not escape it a second time.
        var path: String
        /// Unescaped parameters.
        var query: [(name: String, value: String)] = []
        /// All signed fields, with lower-case names; they include `host` and `x-amz-date`.
        var headers: [(name: String, value: String)]
        /// The SHA-256 of the body in hexadecimal digits.
        var bodyHash: String
    }

    /// The SHA-256 of an empty body.
    static let emptyHash = hash(ByteBuffer())

    static func hash(_ bytes: ByteBuffer) -> String { hexadecimal(SHA256.hash(data: Data(bytes.readableBytesView))) }

    /// Returns the value of the `Authorization` field.
    func authorization(_ request: Signed, at date: Date) -> String {
        let moment = Self.moment(date)
        let day = String(moment.prefix(8))
        let scope = "\(day)/\(region)/s3/aws4_request"
        let headers = request.headers.sorted { $0.name < $1.name }
        let names = headers.map(\.name).joined(separator: ";")
        let canonical =
            [request.method, request.path, Self.query(request.query)]
            + headers.map { "\($0.name):\($0.value)" } + ["", names, request.bodyHash]
        let text = [
            "AWS4-HMAC-SHA256", moment, scope,
            Self.hexadecimal(SHA256.hash(data: Data(canonical.joined(separator: "\n").utf8))),
        ].joined(separator: "\n")
        let signature = Self.hexadecimal(Self.code(text, key: key(of: day)))
        return "AWS4-HMAC-SHA256 Credential=\(accessKey)/\(scope), SignedHeaders=\(names), Signature=\(signature)"
    }

    /// Returns the canonical query: sorted, with all characters escaped except RFC 3986's unreserved ones.
    static func query(_ parameters: [(name: String, value: String)]) -> String {
        parameters.map { (escaped($0.name), escaped($0.value)) }
            .sorted { $0 < $1 }
            .map { "\($0)=\($1)" }
            .joined(separator: "&")
    }

    /// Returns a time like `20130524T000000Z`.
    static func moment(_ date: Date) -> String {
        var seconds = time_t(date.timeIntervalSince1970.rounded(.down))
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func two(_ number: Int32) -> String { (number < 10 ? "0" : "") + "\(number)" }
        let day = "\(parts.tm_year + 1_900)\(two(parts.tm_mon + 1))\(two(parts.tm_mday))"
        return "\(day)T\(two(parts.tm_hour))\(two(parts.tm_min))\(two(parts.tm_sec))Z"
    }

    static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    private static let digits = Array("0123456789abcdef".utf8)

    private func key(of day: String) -> SymmetricKey {
        var key = SymmetricKey(data: Data("AWS4\(secretKey)".utf8))
        for part in [day, region, "s3", "aws4_request"] { key = SymmetricKey(data: Data(Self.code(part, key: key))) }
        return key
    }

    private static func code(_ text: String, key: SymmetricKey) -> HMAC<SHA256>.MAC {
        HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)
    }

    private static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    )
}
