import Foundation
import Wire

/// By what people are found: what a name and what somebody types are both turned into.
///
/// Letters and digits of any script, case folded and without accents; words are told apart by anything else, but by no
/// apostrophe. A name is kept as often as it has words, each of them first once ("ana maria lopez", "maria lopez ana",
/// "lopez ana maria"), and once with its first and last alone, so that whatever part of it somebody begins to type is the
/// beginning of one of them.
enum FoundNames {
    /// Words of a name that it is found by; those after them are not.
    static let maximumWords = 8
    /// The most names that one person has: each word first, the outer two, and his userId.
    static let maximumNames = maximumWords + 2
    /// Characters of each.
    static let maximumLength = 120

    /// All that somebody is found by, each once.
    ///
    /// A customer's userIds are names, which people know each other by; Roost's own are not.
    static func names(of user: User.ID, named fullName: String) -> [String] {
        let words = Array(words(of: fullName).prefix(maximumWords))
        var names = words.indices.map { first in (words[first...] + words[..<first]).joined(separator: " ") }
        if words.count > 2 { names.append("\(words[0]) \(words[words.count - 1])") }
        if !user.isRoosts { names.append(query(user.user)) }
        let cut = names.map { String($0.unicodeScalars.prefix(maximumLength)) }
        return Set(cut.filter { !$0.isEmpty }).sorted()
    }

    /// What somebody types, as names are kept.
    static func query(_ text: String) -> String { words(of: text).joined(separator: " ") }

    private static func words(of text: String) -> [Substring] {
        var kept = String.UnicodeScalarView()
        for scalar in fold(text).unicodeScalars where !apostrophes.contains(scalar) {
            let properties = scalar.properties
            let isOfAWord = properties.isAlphabetic || properties.numericType != nil || isMark(properties)
            kept.append(isOfAWord ? scalar : " ")
        }
        return String(kept).split(separator: " ")
    }

    /// Case folded, compatibility forms as one, and letters without what is put on them.
    ///
    /// Only accents of Latin, Greek and Cyrillic letters go: in other scripts marks are letters of their own.
    private static func fold(_ text: String) -> String {
        var bare = String.UnicodeScalarView()
        for scalar in NameFolding.fold(text).decomposedStringWithCanonicalMapping.unicodeScalars
        where !accents.contains(where: { $0.contains(scalar.value) }) {
            if let plain = plainLetters[scalar] {
                bare.append(contentsOf: plain.unicodeScalars)
            } else {
                bare.append(scalar)
            }
        }
        return String(bare).precomposedStringWithCanonicalMapping
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
