/// The header of a form's part (RFC 7578, section 4).
public struct MultipartPart: Hashable, Sendable {
    /// The field's name.
    public let name: String
    /// The file's name as sent by the client; nil if the part is not a file.
    ///
    /// The name may be any text, including paths and control characters. Do not use it as the name of a file.
    public let fileName: String?
    /// The content type as sent by the client; it may be wrong.
    public let contentType: String?

    /// Creates a part's header.
    public init(name: String, fileName: String? = nil, contentType: String? = nil) {
        self.name = name
        self.fileName = fileName
        self.contentType = contentType
    }

    /// The longest field name in bytes.
    ///
    /// Names are looked up, and comparing strings can take quadratic time.
    private static let longestName = 255

    /// Parses the header lines of a part.
    init(header: [UInt8]) throws(MultipartError) {
        var disposition: FieldParameters?
        var contentType: String?
        for line in header.split(separator: UInt8(ascii: "\n")) {
            var line = line
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
                line.first != UInt8(ascii: " "), line.first != UInt8(ascii: "\t"),
                !line.contains(where: { $0 == 0 || $0 == UInt8(ascii: "\r") })
            else { throw .malformed("a part has an invalid header line") }
            let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
            let value = Self.trimmed(String(decoding: line[(colon + 1)...], as: UTF8.self))
            switch name {
            case "content-disposition":
                guard disposition == nil, let value = FieldParameters(value), value.word == "form-data" else {
                    throw .malformed("a part's Content-Disposition must be form-data and must not repeat")
                }
                disposition = value
            case "content-type": contentType = value
            case "content-transfer-encoding":
                // Deprecated (RFC 7578, section 4.7): the encoded content would be mistaken for the file itself.
                guard ["binary", "8bit", "7bit"].contains(value.lowercased()) else {
                    throw .malformed("a part's Content-Transfer-Encoding must be binary, 8bit or 7bit")
                }
            default: break
            }
        }
        guard let disposition, let name = disposition["name"], !name.isEmpty else {
            throw .malformed("a part has no name")
        }
        guard name.utf8.count <= Self.longestName else {
            throw .malformed("a part's name has more than \(Self.longestName) bytes")
        }
        self.init(
            name: Self.unescaped(name),
            fileName: disposition["filename"].map(Self.unescaped),
            contentType: contentType
        )
    }

    /// Reverses the escaping of browsers (HTML, "multipart/form-data encoding algorithm").
    private static func unescaped(_ name: String) -> String {
        guard name.utf8.contains(UInt8(ascii: "%")) else { return name }
        return name.replacing("%22", with: "\"").replacing("%0D", with: "\r").replacing("%0A", with: "\n")
    }

    private static func trimmed(_ text: String) -> String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        var text = text[...].drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return String(text)
    }
}
