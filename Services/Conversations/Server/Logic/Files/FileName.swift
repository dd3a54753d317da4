import Foundation
import Wire

/// What a sender called a file, made fit to be shown and to be saved under.
enum FileName {
    /// In UTF-8.
    static let maximumBytes = 255

    /// Nil where nothing of it is left, and for more combining marks than text may have.
    ///
    /// Folders are cut off, whichever way the slashes lean; so are control characters, what turns the direction of
    /// writing (`photo‮gpj.exe`) and what cannot be seen; dots and spaces at either end.
    static func cleaned(_ name: String?) -> String? {
        guard let name, !name.hasTooManyMarks,
            let last = name.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last
        else { return nil }
        let visible = String(String.UnicodeScalarView(last.unicodeScalars.filter(isVisible)))
        let trimmed = visible.trimmingCharacters(in: .whitespaces.union(CharacterSet(charactersIn: ".")))
        return trimmed.isEmpty ? nil : shortened(trimmed)
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .surrogate, .unassigned, .privateUse, .lineSeparator, .paragraphSeparator: false
        // Marks of direction and byte order; what joins letters and emoji is needed.
        case .format: scalar == "\u{200C}" || scalar == "\u{200D}"
        default: true
        }
    }

    /// Keeps the ending, by which a device knows what opens it.
    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > maximumBytes else { return name }
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        let ending = name[dot...].utf8.count <= 32 ? String(name[dot...]) : ""
        var stem = name.dropLast(ending.count)
        while stem.utf8.count + ending.utf8.count > maximumBytes { stem.removeLast() }
        return stem + ending
    }

    /// The value of a `Content-Disposition` (RFC 6266): plain for old readers, and as it is for the others (RFC 8187).
    static func disposition(_ word: String, name: String) -> String {
        let plain = name.unicodeScalars.map { scalar in
            scalar.isASCII && scalar.value >= 0x20 && !"\"\\%".unicodeScalars.contains(scalar) ? Character(scalar) : "_"
        }
        let value = "\(word); filename=\"\(String(plain))\""
        guard String(plain) != name else { return value }
        let escaped = name.addingPercentEncoding(withAllowedCharacters: extendedCharacters) ?? ""
        return "\(value); filename*=UTF-8''\(escaped)"
    }

    /// `attr-char` of RFC 8187.
    private static let extendedCharacters = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$&+-.^_`|~"
    )
}
