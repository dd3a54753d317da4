import Foundation
import Wire

/// By what people are found: what a name and what somebody types are both turned into.
///
/// Letters and digits of any script, case folded and without accents; words are told apart by anything else, but by no
/// apostrophe. A name is kept as often as it has words, each of them first once ("ana maria lopez", "maria lopez ana",
/// "lopez ana maria"): the index finds the names in which one of the query's words begins a word, and each of these rows
/// has all other words to compare the rest of the query with.
enum SearchNames {
    /// Words of a name that it is found by; those after them are not.
    static let maximumWords = 8
    /// The most names that one person has: each word first, the user id, and one of the previous release.
    static let maximumNames = maximumWords + 2
    /// Characters of each.
    static let maximumLength = 120
    /// Words of a query that count; those after them do not, since no name is found by more.
    static let maximumQueryWords = maximumWords

    /// All that somebody is found by, each once.
    ///
    /// A customer's userIds are names, which people know each other by; Roost's own are not.
    static func names(of user: User.ID, named fullName: String) -> [String] {
        let words = Array(words(of: fullName).prefix(maximumWords))
        var names = words.indices.map { first in (words[first...] + words[..<first]).joined(separator: " ") }
        if !user.isRoostUser { names.append(SearchNames.words(of: user.user).joined(separator: " ")) }
        let cut = names.map { String($0.unicodeScalars.prefix(maximumLength)) }
        return Set(cut.filter { !$0.isEmpty }).sorted()
    }

    /// Returns the words of a query as names are kept, each once, in their order.
    static func query(_ text: String) -> [String] {
        var seen: Set<[UInt8]> = []
        let unique = words(of: text).map(String.init).filter { seen.insert(Array($0.utf8)).inserted }
        return Array(unique.prefix(maximumQueryWords))
    }

    private static func words(of text: String) -> [Substring] {
        var kept = String.UnicodeScalarView()
        for scalar in fold(text).unicodeScalars where !apostrophes.contains(scalar) {
            let properties = scalar.properties
            let isWordCharacter = properties.isAlphabetic || properties.numericType != nil || isMark(properties)
            kept.append(isWordCharacter ? scalar : " ")
        }
        return String(kept).split(separator: " ")
    }

    /// Case folded, compatibility forms as one, and letters without what is put on them.
    ///
    /// Only accents of Latin, Greek and Cyrillic letters go: in other scripts marks are letters of their own.
    private static func fold(_ text: String) -> String {
        var folded = String.UnicodeScalarView()
        for scalar in NameFolding.fold(text).decomposedStringWithCanonicalMapping.unicodeScalars
        where !accents.contains(where: { $0.contains(scalar.value) }) {
            if let plain = plainLetters[scalar] {
                folded.append(contentsOf: plain.unicodeScalars)
            } else {
                folded.append(scalar)
            }
        }
        return String(folded).precomposedStringWithCanonicalMapping
    }

    private static func isMark(_ properties: Unicode.Scalar.Properties) -> Bool {
        switch properties.generalCategory {
        case .nonspacingMark, .spacingMark: true
        default: false
        }
    }

    /// Unicode's blocks of combining diacritical marks.
    private static let accents: [ClosedRange<UInt32>] = [
        0x0300...0x036F, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20FF, 0xFE20...0xFE2F,
    ]

    /// Letters that no decomposition makes plain, as people without them on their keyboard write them.
    private static let plainLetters: [Unicode.Scalar: String] = [
        "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t",
    ]

    private static let apostrophes: Set<Unicode.Scalar> = ["'", "’", "‘", "ʼ", "ʹ", "`", "´"]
}
