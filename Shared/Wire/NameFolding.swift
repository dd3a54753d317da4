import Foundation

/// NFKC case folding (Unicode, section 3.13, `toNFKC_Casefold`): two names are the same if their folded texts are
/// equal.
///
/// The result does not depend on the machine or its locale. Zero-width and other ignorable characters are removed, so
/// two names that differ only in an invisible character are the same.
package enum NameFolding {
    package static func fold(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.lowercased() }
        var folded = foldOnce(withFewMarks(text))
        // Folding may produce characters that combine with their neighbours. The result is therefore folded again until
        // it no longer changes, at most three times.
        for _ in 0..<3 {
            let next = foldOnce(folded)
            guard next.utf8.elementsEqual(folded.utf8) == false else { break }
            folded = next
        }
        return folded
    }

    /// Limits consecutive combining marks to 30 (UAX #15, section 13); no language has more.
    ///
    /// Normalization sorts the marks, which takes quadratic time: 0.6 s for 64 kB.
    private static func withFewMarks(_ text: String) -> String {
        var (result, marks) = (String.UnicodeScalarView(), 0)
        for scalar in text.unicodeScalars {
            // An ignorable character does not end a run of marks, because folding removes it.
            if scalar.properties.canonicalCombiningClass != .notReordered {
                marks += 1
            } else if !scalar.properties.isDefaultIgnorableCodePoint {
                marks = 0
            }
            if marks <= 30 { result.append(scalar) }
        }
        return String(result)
    }

    private static func foldOnce(_ text: String) -> String {
        var folded = String.UnicodeScalarView()
        for scalar in text.precomposedStringWithCompatibilityMapping.unicodeScalars
        where !scalar.properties.isDefaultIgnorableCodePoint {
            // Most letters of all scripts have no case, and mapping a letter takes microseconds.
            if scalar.properties.changesWhenUppercased || scalar.properties.changesWhenLowercased {
                folded.append(contentsOf: caseFolding(of: scalar))
            } else {
                folded.append(scalar)
            }
        }
        return String(folded).precomposedStringWithCompatibilityMapping
    }

    /// Returns the scalar's full case folding (CaseFolding.txt, C and F), which the standard library does not provide.
    ///
    /// It equals upper-casing followed by lower-casing each scalar, with two exceptions (checked against every scalar
    /// of Unicode 14). The dotless i folds to itself and not to `i`, and the capital sharp s folds like the small one.
    /// CaseFolding.txt folds Cherokee to capital letters instead of small ones, which compares the same.
    ///
    /// - Parameter scalar: the scalar.
    /// - Returns: the folded scalars.
    private static func caseFolding(of scalar: Unicode.Scalar) -> String.UnicodeScalarView {
        switch scalar {
        case "ı": return "ı".unicodeScalars
        case "ẞ": return "ss".unicodeScalars
        default:
            var folded = String.UnicodeScalarView()
            for upper in scalar.properties.uppercaseMapping.unicodeScalars {
                folded.append(contentsOf: upper.properties.lowercaseMapping.unicodeScalars)
            }
            return folded
        }
    }
}
