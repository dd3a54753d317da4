/// An address that a mail goes to or comes from: what stands between the angle brackets (RFC 5321, section 4.1.2).
public struct MailAddress: Hashable, Sendable {
    /// It cannot be written in a command or a header, whatever is behind it.
    public struct Malformed: Error {}

    /// The part before the last `@`, quoted where it must be.
    public let localPart: String
    public let domain: String
    /// What a person calls it; nothing where it is empty.
    public let name: String?

    /// - Parameters:
    ///   - text: `ana@example.org`; at most 254 bytes, of which 64 before the `@`.
    ///   - name: a display name. Control characters make it malformed, for they would begin another header.
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

    public var text: String { "\(localPart)@\(domain)" }

    /// Whether every server takes it; others must offer SMTPUTF8 (RFC 6531).
    var isASCII: Bool { text.utf8.allSatisfy { $0 < 0x80 } }

    /// Letters, digits and the marks of RFC 5322's `atext`, in parts between single dots.
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
    /// An address literal is nobody's mailbox on the internet.
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

    /// Neither white space nor what changes how the text around it is shown or read.
    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator,
            .spaceSeparator:
            false
        default: true
        }
    }
}
