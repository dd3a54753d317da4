import Foundation

/// The words of a text, as they are searched: without case, accents and width, in any script.
///
/// Where a script puts no spaces between its words (Han, kana, Thai …), every two neighbours are a word, and the last of
/// a run is one by itself; so whatever is looked for begins one of them. An emoji is a word.
///
/// Time and memory are linear in the text, and bounded: only the first ``maximumScalars`` of the folded text and the
/// first ``maximumWords`` different words count. Some scalars fold to 18 others, and 65 kB have room for 21,800 of them.
enum SearchWords {
    /// In scalars; what is longer is cut, here and in what is looked for.
    private static let longest = 64
    /// Scalars of the folded text that are read.
    static let maximumScalars = 20_000
    /// Different words of one text.
    static let maximumWords = 10_000
    /// Combining marks in a row; further ones are left out, since sorting them takes the square of their number.
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

    /// What is looked for: each must be there, and the last may go on.
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

    /// Letters that follow one another without a break.
    private struct Run {
        var word: String
        let isUnspaced: Bool
        /// Nothing stands behind it, not even a space.
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
            // A colour is no word of its own.
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

    /// The text without case, accents and width: at most ``maximumScalars`` scalars.
    private static func folded(_ text: String) -> String {
        let start = text.unicodeScalars.prefix(maximumScalars)
        if start.allSatisfy(\.isASCII) { return String(start).lowercased() }
        var folded = String.UnicodeScalarView()
        // Each scalar is folded once: the mappings of Unicode's tables cost far more than a look-up here.
        var known: [Unicode.Scalar: [Unicode.Scalar]] = [:]
        var (count, marks) = (0, 0)
        reading: for scalar in start {
            if known[scalar] == nil { known[scalar] = Self.folded(scalar) }
            for part in known[scalar] ?? [] {
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

    /// What one scalar becomes; nothing for an accent and for what is not seen.
    private static func folded(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
        if scalar.isASCII { return Array(scalar.properties.lowercaseMapping.unicodeScalars) }
        return String(scalar).decomposedStringWithCompatibilityMapping.unicodeScalars.flatMap { part in
            switch part.value {
            case 0x300...0x36F, 0xFE00...0xFE0F, 0xAD, 0x200C: [Unicode.Scalar]()
            default:
                // Upper-cased first, since that brings together what lower-casing leaves apart: ß and ss, ς and σ.
                part.properties.uppercaseMapping.unicodeScalars
                    .flatMap { $0.properties.lowercaseMapping.unicodeScalars }
            }
        }
    }
}
