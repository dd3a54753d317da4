import Foundation

/// NFKC case folding (Unicode, section 3.13, `toNFKC_Casefold`): two names are the same if they fold to the same text.
///
/// The same on every machine, whatever its locale. Zero-width and other ignorable characters count for nothing, so a
/// name cannot be copied by hiding one in it.
package enum NameFolding {
    package static func fold(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.lowercased() }
        var folded = foldOnce(withFewMarks(text))
        // Folding may give something that composes anew; it settles at the second pass.
        for _ in 0..<3 {
            let next = foldOnce(folded)
            guard next.utf8.elementsEqual(folded.utf8) == false else { break }
            folded = next
        }
        return folded
    }

    /// Without combining marks beyond 30 in a row (UAX #15, section 13), as no language has them.
    ///
    /// Normalisation sorts them, which takes the square of their number: 0.6 s for 64 kB.
    private static func withFewMarks(_ text: String) -> String {
        var (kept, marks) = (String.UnicodeScalarView(), 0)
        for scalar in text.unicodeScalars {
            // What is ignored does not end a row, since folding removes it.
            if scalar.properties.canonicalCombiningClass != .notReordered {
                marks += 1
            } else if !scalar.properties.isDefaultIgnorableCodePoint {
                marks = 0
            }
            if marks <= 30 { kept.append(scalar) }
        }
        return String(kept)
    }

    private static func foldOnce(_ text: String) -> String {
        var folded = String.UnicodeScalarView()
        for scalar in text.precomposedStringWithCompatibilityMapping.unicodeScalars
        where !scalar.properties.isDefaultIgnorableCodePoint {
            // Most letters of the world have no case, and mapping one takes microseconds.
            if scalar.properties.changesWhenUppercased || scalar.properties.changesWhenLowercased {
                folded.append(contentsOf: caseFolding(of: scalar))
            } else {
                folded.append(scalar)
            }
        }
        return String(folded).precomposedStringWithCompatibilityMapping
    }

    /// The scalar's full case folding (CaseFolding.txt, C and F), which the standard library does not have.
    ///
    /// It equals upper-casing, then lower-casing each scalar by itself, but for two: the dotless i folds to itself and
    /// not to `i`, and the capital sharp s folds as the small one (checked against every scalar of Unicode 14).
    /// Cherokee folds to its small letters here and to its capitals there, which compares the same.
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
