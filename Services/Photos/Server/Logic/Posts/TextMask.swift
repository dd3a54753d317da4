import Wire

/// Masks what users write, if the operator enables it: shouting becomes small letters, and listed words become
/// asterisks.
///
/// The mask applies to all texts when they are created or edited, so no stored text is unmasked.
struct TextMask: Sendable {
    /// Texts with fewer capitals are not shouting: they may be abbreviations.
    private static let minimumCapitals = 6

    private let stopsShouting: Bool
    /// The case-folded words to mask.
    private let words: Set<String>

    /// - Parameters:
    ///   - stopsShouting: Whether texts in capitals or with three exclamation marks are changed to small letters.
    ///   - words: The words to mask, in any case.
    init(stopsShouting: Bool = false, words: [String] = []) {
        self.stopsShouting = stopsShouting
        self.words = Set(words.map(NameFolding.fold).filter { !$0.isEmpty })
    }

    /// Returns the text to store; it has at most as many characters as `text`.
    func masked(_ text: String) -> String {
        let calmText = stopsShouting && Self.isShouting(text) ? Self.lowercased(text) : text
        return words.isEmpty ? calmText : maskingWords(calmText)
    }

    /// Returns whether more than half of the cased letters are capitals, or the text has three exclamation marks.
    private static func isShouting(_ text: String) -> Bool {
        var (upper, lower, marks) = (0, 0, 0)
        for character in text {
            if character.isUppercase { upper += 1 } else if character.isLowercase { lower += 1 }
            if isMark(character) { marks += 1 }
        }
        return upper >= minimumCapitals && upper > lower || marks >= 3
    }

    private static func isMark(_ character: Character) -> Bool { character == "!" || character == "！" }

    /// Returns the text in small letters, with a capital at the start of each sentence and a full stop for each run of
    /// exclamation marks.
    private static func lowercased(_ text: String) -> String {
        var (result, startsSentence, wasMark) = ("", true, false)
        for character in text {
            if isMark(character) {
                if !wasMark { result.append(".") }
                (wasMark, startsSentence) = (true, true)
                continue
            }
            wasMark = false
            if character.isLetter {
                // A letter whose other case needs more scalars is kept, because the text must not exceed the maximum
                // length.
                let changed = startsSentence ? character.uppercased() : character.lowercased()
                result += changed.unicodeScalars.count == character.unicodeScalars.count ? changed : String(character)
                startsSentence = false
            } else {
                result.append(character)
                if ".?…。？".contains(character) || character.isNewline { startsSentence = true }
            }
        }
        return result
    }

    private func maskingWords(_ text: String) -> String {
        var (result, word) = ("", "")
        func end() {
            result += words.contains(NameFolding.fold(word)) ? String(repeating: "*", count: word.count) : word
            word = ""
        }
        for character in text {
            if character.isLetter || character.isNumber {
                word.append(character)
            } else {
                end()
                result.append(character)
            }
        }
        end()
        return result
    }
}
