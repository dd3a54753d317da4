import Wire

/// The hashtags of a text, by the rules of Unicode (UAX #31, section 6, "Hashtag Identifiers").
///
/// A hashtag starts with `#`, full-width `＃` or small `﹟`, unless a letter, digit or emoji precedes the sign. It
/// continues with identifier characters, emoji, `-` and `+`. Digits alone are a number, not a hashtag. Hashtags are
/// folded (NFKC, case), so `#Straße`, `#STRASSE` and `＃straße` are the same.
enum HashtagText {
    /// How many hashtags of a text count; the others are plain words.
    static let maximum = 30
    /// The maximum length after folding, in characters; a longer word is not a hashtag.
    static let maximumLength = 100

    private static let hashSigns: Set<Unicode.Scalar> = ["#", "\u{FE5F}", "\u{FF03}"]

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

    /// Returns the stored form of a hashtag, with or without its `#`; nil for an invalid hashtag.
    static func fold(_ word: String) -> String? {
        var scalars = Substring(word).unicodeScalars
        if let first = scalars.first, hashSigns.contains(first) { scalars.removeFirst() }
        // A trailing "-", as in "#left-", is not part of the hashtag.
        while scalars.last == "-" { scalars.removeLast() }
        guard !scalars.isEmpty, scalars.allSatisfy(isTagCharacter) else { return nil }
        let tag = NameFolding.fold(String(Substring(scalars)))
        guard (1...maximumLength).contains(tag.unicodeScalars.count), tag.unicodeScalars.contains(where: isMeaningful)
        else { return nil }
        return tag
    }

    /// Folds the prefix of a hashtag for a search; unlike in `fold`, digits alone are valid.
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

    /// Returns whether a `#` after this character belongs to a path, an entity or a word: `a#b`, `/#top`, `&#39;`.
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

    /// Returns whether a character is an emoji, or joins, colours or completes emoji.
    private static func isEmojiPart(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x200D, 0xFE0F, 0x20E3, 0xE0020...0xE007F: true
        default: scalar.properties.isEmoji
        }
    }
}
