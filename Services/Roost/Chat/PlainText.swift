/// Text of other users, made safe for a terminal.
///
/// It cannot move the cursor, change colours or the window title, or reverse the direction of text.
enum PlainText {
    static func of(_ text: some StringProtocol) -> String {
        var plain = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": plain += "⏎ "
            case "\t": plain += " "
            case _ where isUnsafe(scalar): plain += "\\u{\(String(scalar.value, radix: 16))}"
            default: plain.unicodeScalars.append(scalar)
            }
        }
        return plain
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // Direction marks and overrides can make one name look like another.
        case 0x061C, 0x200E...0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
        }
    }
}
