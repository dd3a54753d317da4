import Foundation
import Wire

/// The rules that make a sender's name for a file safe to show and to save.
enum FileName {
    /// The maximum length in UTF-8.
    static let maximumBytes = 255

    /// Returns a safe name; nil when nothing is left of it, or when it has more combining marks than text may have.
    ///
    /// Removes folders with slashes of both kinds, control characters, invisible characters, and dots and spaces at
    /// either end. Characters that reverse the writing direction are removed too: with U+202E, `photo[U+202E]gpj.exe`
    /// looks like a picture.
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
        // Direction and byte-order marks are removed; joiners of letters and emoji are needed.
        case .format: scalar == "\u{200C}" || scalar == "\u{200D}"
        default: true
        }
    }

    /// Keeps the extension, by which a device selects the application.
    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > maximumBytes else { return name }
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        let ending = name[dot...].utf8.count <= 32 ? String(name[dot...]) : ""
        var stem = name.dropLast(ending.count)
        while stem.utf8.count + ending.utf8.count > maximumBytes { stem.removeLast() }
        return stem + ending
    }

    /// Returns the value of a `Content-Disposition` (RFC 6266): an ASCII name for old clients and the exact name (RFC
    /// 8187).
    static func disposition(_ word: String, name: String) -> String {
        let plain = name.unicodeScalars.map { scalar in
            scalar.isASCII && scalar.value >= 0x20 && !"\"\\%".unicodeScalars.contains(scalar) ? Character(scalar) : "_"
        }
        let value = "\(word); filename=\"\(String(plain))\""
        guard String(plain) != name else { return value }
        let escaped = name.addingPercentEncoding(withAllowedCharacters: extendedCharacters) ?? ""
        return "\(value); filename*=UTF-8''\(escaped)"
    }

    /// The `attr-char` set of RFC 8187.
    private static let extendedCharacters = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$&+-.^_`|~"
    )
}
