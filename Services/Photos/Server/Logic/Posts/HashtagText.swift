import Wire

/// The hashtags of a text, by the rules of Unicode (UAX #31, section 6, "Hashtag Identifiers").
///
/// A `#` begins one, also a full-width or a small one, where no letter, digit or emoji stands before it; whatever may
/// stand in an identifier goes on with it, and emoji, `-` and `+`. Nothing but digits is a number and no hashtag. It is
/// folded (NFKC, case), so `#Straße`, `#STRASSE` and `＃straße` are one.
enum HashtagText {
    /// How many of a text count; the others are mere words.
    static let maximum = 30
    /// In characters, folded; a longer one is none.
    static let maximumLength = 100

    private static let hashSigns: Set<Unicode.Scalar> = ["#", "\u{FE5F}", "\u{FF03}"]

    /// Folded, in their order, each once.
    static func all(in text: String) -> [String] {
        var (found, seen): ([String], Set<String>) = ([], [])
        let scalars = text.unicodeScalars
        var (index, previous) = (scalars.startIndex, nil as Unicode.Scalar?)
        while index < scalars.endIndex, found.count < maximum {
            let scalar = scalars[index]
            index = scalars.index(after: index)
            guard hashSigns.contains(scalar), previous.map({ !endsWord($0) }) ?? true else {
                previous = scalar
                continue
            }
            let word = scalars[index...].prefix(while: isTagCharacter)
            index = word.endIndex
            previous = word.last ?? scalar
            guard let tag = fold(String(word)), seen.insert(tag).inserted else { continue }
            found.append(tag)
        }
        return found
    }

    /// A hashtag as it is kept, with or without its `#`; nil for what can be none.
    static func fold(_ word: String) -> String? {
        var scalars = Substring(word).unicodeScalars
        if let first = scalars.first, hashSigns.contains(first) { scalars.removeFirst() }
        // "#left-" is one on the way to something else.
        while scalars.last == "-" { scalars.removeLast() }
        guard !scalars.isEmpty, scalars.allSatisfy(isTagCharacter) else { return nil }
        let tag = NameFolding.fold(String(Substring(scalars)))
        guard (1...maximumLength).contains(tag.unicodeScalars.count), tag.unicodeScalars.contains(where: isMeaningful)
        else { return nil }
        return tag
    }

    /// What a search begins with: as `fold`, but of a part, which may be digits alone.
    static func foldPrefix(_ word: String) -> String? {
        var scalars = Substring(word).unicodeScalars
        if let first = scalars.first, hashSigns.contains(first) { scalars.removeFirst() }
        guard !scalars.isEmpty, scalars.allSatisfy(isTagCharacter) else { return nil }
        let tag = NameFolding.fold(String(Substring(scalars)))
        return (1...maximumLength).contains(tag.unicodeScalars.count) ? tag : nil
    }

    private static func isTagCharacter(_ scalar: Unicode.Scalar) -> Bool {
        guard !hashSigns.contains(scalar) else { return false }
        if scalar.isASCII { return scalar.properties.isXIDContinue || scalar == "-" || scalar == "+" }
        return scalar.properties.isXIDContinue || isEmojiPart(scalar)
    }

    /// A path, an entity or a word goes on to what looks like a hashtag: `a#b`, `/#top`, `&#39;`.
    private static func endsWord(_ scalar: Unicode.Scalar) -> Bool {
        isTagCharacter(scalar) && scalar != "-" && scalar != "+" || scalar == "/" || scalar == "&"
    }

    private static func isMeaningful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .decimalNumber, .connectorPunctuation, .dashPunctuation, .mathSymbol, .nonspacingMark, .enclosingMark:
            false
        default: true
        }
    }

    /// Emoji, and what joins, colours or flags them.
    private static func isEmojiPart(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x200D, 0xFE0F, 0x20E3, 0xE0020...0xE007F: true
        default: scalar.properties.isEmoji
        }
    }
}
