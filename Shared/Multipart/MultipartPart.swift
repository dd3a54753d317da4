/// What the header of a part says about it (RFC 7578, section 4).
public struct MultipartPart: Hashable, Sendable {
    /// The field's name.
    public let name: String
    /// Where the part is a file: its name, as the client gave it.
    ///
    /// Any text may stand here, paths and control characters too: it is not for use as the name of a file.
    public let fileName: String?
    /// As the client gave it.
    public let contentType: String?

    public init(name: String, fileName: String? = nil, contentType: String? = nil) {
        self.name = name
        self.fileName = fileName
        self.contentType = contentType
    }

    /// The most bytes of a field's name: it is looked up, and comparing some texts takes the square of their length.
    private static let longestName = 255

    /// From the lines of a part's header.
    init(header: [UInt8]) throws(MultipartError) {
        var disposition: FieldParameters?
        var contentType: String?
        for line in header.split(separator: UInt8(ascii: "\n")) {
            var line = line
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
                line.first != UInt8(ascii: " "), line.first != UInt8(ascii: "\t"),
                !line.contains(where: { $0 == 0 || $0 == UInt8(ascii: "\r") })
            else { throw .malformed("a part has a header that is none") }
            let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
            let value = Self.trimmed(String(decoding: line[(colon + 1)...], as: UTF8.self))
            switch name {
            case "content-disposition":
                guard disposition == nil, let value = FieldParameters(value), value.word == "form-data" else {
                    throw .malformed("a part's Content-Disposition is not form-data")
                }
                disposition = value
            case "content-type": contentType = value
            case "content-transfer-encoding":
                // Deprecated (RFC 7578, section 4.7): what is encoded would be taken for the file itself.
                guard ["binary", "8bit", "7bit"].contains(value.lowercased()) else {
                    throw .malformed("a part has a Content-Transfer-Encoding")
                }
            default: break
            }
        }
        guard let disposition, let name = disposition["name"], !name.isEmpty else {
            throw .malformed("a part has no name")
        }
        guard name.utf8.count <= Self.longestName else { throw .malformed("a part's name is too long") }
        self.init(
            name: Self.unescaped(name),
            fileName: disposition["filename"].map(Self.unescaped),
            contentType: contentType
        )
    }

    /// As browsers escape names (HTML, "multipart/form-data encoding algorithm").
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
