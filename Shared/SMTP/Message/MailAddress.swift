/// A mail address of a sender or recipient (RFC 5321, section 4.1.2).
public struct MailAddress: Hashable, Sendable {
    /// The error of an address that cannot be used in a command or header.
    public struct Malformed: Error {}

    /// The part before the last `@`, in quotes if the address has them.
    public let localPart: String
    /// The part after the last `@`.
    public let domain: String
    /// The display name; nil if there is none.
    public let name: String?

    /// Parses an address.
    ///
    /// - Parameters:
    ///   - text: `ana@example.org`; at most 254 bytes, at most 64 before the `@`.
    ///   - name: A display name. Control characters are rejected, since they could begin another header.
    /// - Throws: `Malformed`.
    public init(_ text: String, name: String? = nil) throws {
        guard text.utf8.count <= 254, let at = text.lastIndex(of: "@") else { throw Malformed() }
        let (local, domain) = (String(text[..<at]), String(text[text.index(after: at)...]))
        guard (1...64).contains(local.utf8.count), Self.isDotAtom(local) || Self.isQuotedString(local),
            Self.isDomain(domain)
        else { throw Malformed() }
        guard name?.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) != true else {
            throw Malformed()
        }
        localPart = local
        self.domain = domain
        self.name = name?.isEmpty == true ? nil : name
    }

    /// The address without the display name.
    public var text: String { "\(localPart)@\(domain)" }

    /// Whether the address is ASCII; others require a server with SMTPUTF8 (RFC 6531).
    var isASCII: Bool { text.utf8.allSatisfy { $0 < 0x80 } }

    /// Letters, digits and the special characters of RFC 5322's `atext`, separated by single dots.
    private static func isDotAtom(_ text: String) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false)
            .allSatisfy { !$0.isEmpty && $0.unicodeScalars.allSatisfy(isAtomText) }
    }

    private static func isAtomText(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.isASCII else { return isPrintable(scalar) }
        return isLetterOrDigit(scalar) || "!#$%&'*+-/=?^_`{|}~".unicodeScalars.contains(scalar)
    }

    private static func isQuotedString(_ text: String) -> Bool {
        guard text.utf8.count >= 3, text.first == "\"", text.last == "\"" else { return false }
        var isEscaped = false
        for scalar in text.unicodeScalars.dropFirst().dropLast() {
            guard scalar == " " || isPrintable(scalar) else { return false }
            if isEscaped {
                isEscaped = false
            } else if scalar == "\\" {
                isEscaped = true
            } else if scalar == "\"" {
                return false
            }
        }
        return !isEscaped
    }

    /// Labels of letters, digits and inner hyphens.
    ///
    /// Address literals are rejected, because public mailboxes do not use them.
    private static func isDomain(_ text: String) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                && label.unicodeScalars.allSatisfy { scalar in
                    scalar.isASCII ? isLetterOrDigit(scalar) || scalar == "-" : isPrintable(scalar)
                }
        }
    }

    private static func isLetterOrDigit(_ scalar: Unicode.Scalar) -> Bool {
        ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar)
    }

    /// Rejects white space and characters that change how the surrounding text is displayed or parsed.
    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator,
            .spaceSeparator:
            false
        default: true
        }
    }
}
