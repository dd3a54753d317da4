import Foundation
import Wire

/// The normal form of names and search queries.
///
/// Words consist of letters and digits of any script, case-folded and without accents. All other characters separate
/// words, except apostrophes, which are removed. A name is stored once for each of its words, rotated so that the word
/// comes first: "ana maria lopez", "maria lopez ana", "lopez ana maria". The index then finds the names in which a word
/// starts with a word of the query. Each row contains all other words, so that the rest of the query can be compared
/// with it.
enum SearchNames {
    static let maximumWords = 8
    /// The maximum number of rows of one user: one for each word, one for the user id, and one written by the previous
    /// release.
    static let maximumNames = maximumWords + 2
    static let maximumLength = 120
    /// How many words of a query are used; no stored name has more words.
    static let maximumQueryWords = maximumWords

    /// Returns the names that the search finds a user by, without duplicates.
    ///
    /// The user ids of customers' applications are included, because their users know each other by them; Roost's own
    /// ids are not.
    static func names(of user: User.ID, named fullName: String) -> [String] {
        let words = Array(words(of: fullName).prefix(maximumWords))
        var names = words.indices.map { first in (words[first...] + words[..<first]).joined(separator: " ") }
        if !user.isRoostUser { names.append(SearchNames.words(of: user.user).joined(separator: " ")) }
        let cut = names.map { String($0.unicodeScalars.prefix(maximumLength)) }
        return Set(cut.filter { !$0.isEmpty }).sorted()
    }

    static func query(_ text: String) -> [String] {
        var seen: Set<[UInt8]> = []
        let unique = words(of: text).map(String.init).filter { seen.insert(Array($0.utf8)).inserted }
        return Array(unique.prefix(maximumQueryWords))
    }

    private static func words(of text: String) -> [Substring] {
        var filtered = String.UnicodeScalarView()
        for scalar in fold(text).unicodeScalars where !apostrophes.contains(scalar) {
            let properties = scalar.properties
            let isWordCharacter = properties.isAlphabetic || properties.numericType != nil || isMark(properties)
            filtered.append(isWordCharacter ? scalar : " ")
        }
        return String(filtered).split(separator: " ")
    }

    /// Folds case and compatibility forms, and removes accents from letters.
    ///
    /// Only accents of Latin, Greek and Cyrillic letters are removed: in other scripts, marks are letters of their own.
    private static func fold(_ text: String) -> String {
        var folded = String.UnicodeScalarView()
        for scalar in NameFolding.fold(text).decomposedStringWithCanonicalMapping.unicodeScalars
        where !accents.contains(where: { $0.contains(scalar.value) }) {
            if let plain = plainSpellings[scalar] {
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

    /// The Unicode blocks of combining diacritical marks.
    private static let accents: [ClosedRange<UInt32>] = [
        0x0300...0x036F, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20FF, 0xFE20...0xFE2F,
    ]

    /// Letters that have no decomposition, with the spelling of users whose keyboards lack them.
    private static let plainSpellings: [Unicode.Scalar: String] = [
        "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t",
    ]

    private static let apostrophes: Set<Unicode.Scalar> = ["'", "’", "‘", "ʼ", "ʹ", "`", "´"]
}
