import Foundation

/// The words of a text as they are searched: without case, accents and width, in any script.
///
/// Some scripts put no spaces between words (Han, kana, Thai …). There, every two adjacent scalars are a word, and the
/// last scalar of a run is a word by itself. So a query may start at any scalar. An emoji is a word.
///
/// Time and memory are linear in the text, and limited: only the first ``maximumScalars`` of the folded text and the
/// first ``maximumWords`` different words count. Some scalars fold to 18 others, and 65 kB can hold 21,800 of them.
enum SearchWords {
    /// The maximum length of a word in scalars; longer words are cut, in texts and in queries.
    private static let longest = 64
    /// The maximum number of scalars that are read of the folded text.
    static let maximumScalars = 20_000
    /// The maximum number of different words of one text.
    static let maximumWords = 10_000
    /// The maximum number of successive combining marks; further ones are dropped, because sorting them takes quadratic
    /// time.
    private static let maximumMarks = 30

    static func words(in text: String) -> Set<String> {
        var words: Set<String> = []
        for run in runs(in: text) {
            guard words.count < maximumWords else { break }
            guard run.isUnspaced else {
                words.insert(run.word)
                continue
            }
            let scalars = Array(run.word.unicodeScalars)
            for index in scalars.indices {
                guard words.count < maximumWords else { break }
                words.insert(String(String.UnicodeScalarView(scalars[index..<min(index + 2, scalars.count)])))
            }
        }
        return words
    }

    /// Returns the terms of a query: a text must have each of them, and the last may be the beginning of a word.
    static func terms(of query: String) -> [Term] {
        var terms: [Term] = []
        let runs = runs(in: query)
        for (index, run) in runs.enumerated() {
            let scalars = Array(run.word.unicodeScalars)
            if run.isUnspaced, scalars.count > 1 {
                for index in scalars.indices.dropLast() {
                    terms.append(Term(String(String.UnicodeScalarView(scalars[index...index + 1])), isPrefix: false))
                }
            } else {
                let isLast = index == runs.count - 1 && run.endsText
                terms.append(Term(run.word, isPrefix: run.isUnspaced || isLast))
            }
        }
        var seen: Set<Term> = []
        return terms.filter { seen.insert($0).inserted }
    }

    struct Term: Hashable, Sendable {
        let word: String
        let isPrefix: Bool

        init(_ word: String, isPrefix: Bool) {
            self.word = word
            self.isPrefix = isPrefix
        }

        func isAmong(_ words: Set<String>) -> Bool {
            words.contains(word) || isPrefix && words.contains { $0.utf8.starts(with: word.utf8) }
        }
    }

    /// Successive letters without a break.
    private struct Run {
        var word: String
        let isUnspaced: Bool
        /// Whether no other character follows, not even a space.
        var endsText = false
    }

    private enum Kind {
        case spaced, unspaced, emoji, gap
    }

    private static func runs(in text: String) -> [Run] {
        var runs: [Run] = []
        var current = String.UnicodeScalarView()
        var kind = Kind.gap
        func end() {
            if !current.isEmpty {
                let word = kind == .spaced ? String(String.UnicodeScalarView(current.prefix(longest))) : String(current)
                runs.append(Run(word: word, isUnspaced: kind == .unspaced))
            }
            current = String.UnicodeScalarView()
        }
        for scalar in folded(text).unicodeScalars {
            let next = Self.kind(of: scalar)
            if next != kind || next == .emoji { end() }
            kind = next
            if next != .gap { current.append(scalar) }
        }
        end()
        if kind != .gap, !runs.isEmpty { runs[runs.count - 1].endsText = true }
        return runs
    }

    private static func kind(of scalar: Unicode.Scalar) -> Kind {
        if scalar.isASCII {
            return switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9": .spaced
            default: .gap
            }
        }
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
            .nonspacingMark, .spacingMark, .decimalNumber, .letterNumber, .otherNumber:
            return isUnspaced(scalar.value) ? .unspaced : .spaced
        default:
            // A skin tone is not a word of its own.
            return scalar.properties.isEmoji && !scalar.properties.isEmojiModifier ? .emoji : .gap
        }
    }

    /// Thai, Lao, Myanmar, Khmer, kana, Han.
    private static func isUnspaced(_ value: UInt32) -> Bool {
        switch value {
        case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF, 0x3005...0x3007, 0x3040...0x30FF, 0x31F0...0x31FF,
            0x3400...0x4DBF, 0x4E00...0x9FFF, 0xF900...0xFAFF, 0x20000...0x3FFFF:
            true
        default: false
        }
    }

    /// Returns the text without case, accents and width: at most ``maximumScalars`` scalars.
    private static func folded(_ text: String) -> String {
        let start = text.unicodeScalars.prefix(maximumScalars)
        if start.allSatisfy(\.isASCII) { return String(start).lowercased() }
        var folded = String.UnicodeScalarView()
        // The folded form of each distinct scalar is cached, because a cache lookup is much faster than Unicode's
        // mapping tables.
        var cache: [Unicode.Scalar: [Unicode.Scalar]] = [:]
        var (count, marks) = (0, 0)
        reading: for scalar in start {
            if cache[scalar] == nil { cache[scalar] = Self.folded(scalar) }
            for part in cache[scalar] ?? [] {
                guard count < maximumScalars else { break reading }
                if !part.isASCII, part.properties.canonicalCombiningClass != .notReordered {
                    marks += 1
                    if marks > maximumMarks { continue }
                } else {
                    marks = 0
                }
                folded.append(part)
                count += 1
            }
        }
        return String(folded).precomposedStringWithCanonicalMapping
    }

    /// Returns the folded form of one scalar; empty for an accent and for an invisible scalar.
    private static func folded(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
        if scalar.isASCII { return Array(scalar.properties.lowercaseMapping.unicodeScalars) }
        return String(scalar).decomposedStringWithCompatibilityMapping.unicodeScalars.flatMap { part in
            switch part.value {
            case 0x300...0x36F, 0xFE00...0xFE0F, 0xAD, 0x200C: [Unicode.Scalar]()
            default:
                // Upper case first, because it unifies letters that lower case keeps apart: ß and ss, ς and σ.
                part.properties.uppercaseMapping.unicodeScalars
                    .flatMap { $0.properties.lowercaseMapping.unicodeScalars }
            }
        }
    }
}
