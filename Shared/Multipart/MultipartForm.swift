public import NIOCore

/// A writer of `multipart/form-data` bodies (RFC 7578).
///
/// ```swift
/// var form = MultipartForm()
/// form.add("description", "a cat")
/// form.add("file", fileName: "cat.jpg", contentType: "image/jpeg", picture)
/// request.headers["Content-Type"] = form.contentType
/// request.body = form.finished()
/// ```
///
/// Names are escaped as in browsers; ``MultipartParser`` reverses it.
public struct MultipartForm: Sendable {
    private let boundary: String
    private var body = ByteBuffer()

    /// Creates a form with a random boundary of 128 bits, which does not occur in the content.
    public init() {
        var generator = SystemRandomNumberGenerator()
        let bits = (0..<2).map { _ in String(generator.next(), radix: 36) }.joined()
        self.init(boundary: "form-\(bits)")
    }

    /// Creates a form with a boundary that must not occur in the content.
    init(boundary: String) { self.boundary = boundary }

    /// The value of the `Content-Type` header.
    public var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// Adds a text field.
    public mutating func add(_ name: String, _ value: String) {
        begin(#"name="\#(Self.escaped(name))""#)
        body.writeString("\r\n\(value)\r\n")
    }

    /// Adds a part with a content type but without a file name, such as JSON.
    public mutating func add(_ name: String, contentType: String, _ content: ByteBuffer) {
        begin(#"name="\#(Self.escaped(name))""#)
        add(contentType, content)
    }

    /// Adds a file.
    public mutating func add(_ name: String, fileName: String, contentType: String, _ content: ByteBuffer) {
        begin(#"name="\#(Self.escaped(name))"; filename="\#(Self.escaped(fileName))""#)
        add(contentType, content)
    }

    /// Returns the complete body.
    public consuming func finished() -> ByteBuffer {
        body.writeString("--\(boundary)--\r\n")
        return body
    }

    private mutating func begin(_ disposition: String) {
        body.writeString("--\(boundary)\r\nContent-Disposition: form-data; \(disposition)\r\n")
    }

    private mutating func add(_ contentType: String, _ content: ByteBuffer) {
        body.writeString("Content-Type: \(Self.escaped(contentType))\r\n\r\n")
        body.writeImmutableBuffer(content)
        body.writeString("\r\n")
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": escaped += "%22"
            case "\r": escaped += "%0D"
            case "\n": escaped += "%0A"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
