/// A plural category of CLDR (Unicode Technical Standard 35, part 3, section 5).
package enum PluralCategory: String, CaseIterable, Sendable {
    case zero, one, two, few, many, other
}

/// The cardinal plural rules of CLDR for integers, as families of languages with the same rules.
///
/// A message catalogue names its family, so that a new language requires no code.
package enum PluralRules: String, CaseIterable, Sendable {
    /// Japanese, Chinese, Korean, Vietnamese, Thai, Indonesian.
    case invariant
    /// 1: English, German, Dutch, Swedish, Danish, Norwegian, Finnish, Estonian, Hungarian, Greek, Turkish, Bulgarian.
    case one
    /// 1, and whole millions: Spanish, Italian, Catalan, Portuguese of Portugal.
    case oneAndMillions
    /// 0 and 1: Hindi, Persian, Bengali, Gujarati, Kannada, Zulu.
    case zeroAndOne
    /// 0 and 1, and whole millions: French, Portuguese of Brazil.
    case zeroAndOneAndMillions
    /// Russian, Ukrainian, Belarusian.
    case eastSlavic
    /// Serbian, Croatian, Bosnian.
    case southSlavic
    case polish
    /// Czech, Slovak.
    case czech
    case slovenian
    case lithuanian
    case latvian
    case romanian
    case hebrew
    case arabic

    /// The categories that these rules distinguish.
    package var categories: Set<PluralCategory> {
        switch self {
        case .invariant: [.other]
        case .one, .zeroAndOne: [.one, .other]
        case .oneAndMillions, .zeroAndOneAndMillions: [.one, .many, .other]
        case .eastSlavic, .polish: [.one, .few, .many, .other]
        case .southSlavic, .czech, .lithuanian, .romanian: [.one, .few, .other]
        case .slovenian: [.one, .two, .few, .other]
        case .latvian: [.zero, .one, .other]
        case .hebrew: [.one, .two, .other]
        case .arabic: [.zero, .one, .two, .few, .many, .other]
        }
    }

    /// Returns the category of a number; a negative number has the category of its absolute value.
    package func category(of number: Int64) -> PluralCategory {
        let n = number.magnitude
        let (tens, hundreds) = (n % 10, n % 100)
        let isTeen = 11...19 ~= hundreds
        switch self {
        case .invariant: return .other
        case .one: return n == 1 ? .one : .other
        case .oneAndMillions: return n == 1 ? .one : Self.isMillions(n) ? .many : .other
        case .zeroAndOne: return n <= 1 ? .one : .other
        case .zeroAndOneAndMillions: return n <= 1 ? .one : Self.isMillions(n) ? .many : .other
        case .eastSlavic:
            if tens == 1, hundreds != 11 { return .one }
            return Self.isFew(tens, hundreds) ? .few : .many
        case .southSlavic:
            if tens == 1, hundreds != 11 { return .one }
            return Self.isFew(tens, hundreds) ? .few : .other
        case .polish: return n == 1 ? .one : Self.isFew(tens, hundreds) ? .few : .many
        case .czech: return n == 1 ? .one : 2...4 ~= n ? .few : .other
        case .slovenian: return hundreds == 1 ? .one : hundreds == 2 ? .two : 3...4 ~= hundreds ? .few : .other
        case .lithuanian:
            if isTeen || tens == 0 { return .other }
            return tens == 1 ? .one : .few
        case .latvian:
            if isTeen || tens == 0 { return .zero }
            return tens == 1 ? .one : .other
        case .romanian: return n == 1 ? .one : n == 0 || 1...19 ~= hundreds ? .few : .other
        case .hebrew: return n == 1 ? .one : n == 2 ? .two : .other
        case .arabic:
            switch n {
            case 0: return .zero
            case 1: return .one
            case 2: return .two
            default: return 3...10 ~= hundreds ? .few : 11...99 ~= hundreds ? .many : .other
            }
        }
    }

    private static func isFew(_ tens: UInt64, _ hundreds: UInt64) -> Bool {
        2...4 ~= tens && !(12...14 ~= hundreds)
    }

    /// Whether a number consists of whole millions: French "un million de photos" has another form than "mille photos".
    private static func isMillions(_ n: UInt64) -> Bool { n != 0 && n % 1_000_000 == 0 }
}
