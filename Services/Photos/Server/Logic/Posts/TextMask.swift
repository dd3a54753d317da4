import Wire

/// Softens what people write, where the operator wants it: shouting becomes speech, bad words become stars.
///
/// It is done to whatever is written or edited, before it is kept: there is no text that was not looked at.
struct TextMask: Sendable {
    /// Fewer capitals are an abbreviation.
    private static let shout = 6

    private let stopsShouting: Bool
    /// Folded.
    private let words: Set<String>

    /// - Parameters:
    ///   - stopsShouting: whether texts of capitals and exclamation marks are put into small letters.
    ///   - words: those that are not to be read, whatever their case.
    init(stopsShouting: Bool = false, words: [String] = []) {
        self.stopsShouting = stopsShouting
        self.words = Set(words.map(NameFolding.fold).filter { !$0.isEmpty })
    }

    /// The text as it is kept; no longer than it was, in characters that people see.
    func masked(_ text: String) -> String {
        let spoken = stopsShouting && Self.isShouting(text) ? Self.spoken(text) : text
        return words.isEmpty ? spoken : withoutWords(spoken)
    }

    /// More than half of what has a case are capitals, or three exclamation marks stand in it.
    private static func isShouting(_ text: String) -> Bool {
        var (upper, lower, marks) = (0, 0, 0)
        for character in text {
            if character.isUppercase { upper += 1 } else if character.isLowercase { lower += 1 }
            if isMark(character) { marks += 1 }
        }
        return upper >= shout && upper > lower || marks >= 3
    }

    private static func isMark(_ character: Character) -> Bool { character == "!" || character == "！" }

    /// In small letters, each sentence with a capital, runs of exclamation marks as a full stop.
    private static func spoken(_ text: String) -> String {
        var (spoken, begins, wasMark) = ("", true, false)
        for character in text {
            if isMark(character) {
                if !wasMark { spoken.append(".") }
                (wasMark, begins) = (true, true)
                continue
            }
            wasMark = false
            if character.isLetter {
                // What grows by it stays: a text may not become longer than it may be.
                let changed = begins ? character.uppercased() : character.lowercased()
                spoken += changed.unicodeScalars.count == character.unicodeScalars.count ? changed : String(character)
                begins = false
            } else {
                spoken.append(character)
                if ".?…。？".contains(character) || character.isNewline { begins = true }
            }
        }
        return spoken
    }

    private func withoutWords(_ text: String) -> String {
        var (kept, word) = ("", "")
        func end() {
            kept += words.contains(NameFolding.fold(word)) ? String(repeating: "*", count: word.count) : word
            word = ""
        }
        for character in text {
            if character.isLetter || character.isNumber {
                word.append(character)
            } else {
                end()
                kept.append(character)
            }
        }
        end()
        return kept
    }
}
