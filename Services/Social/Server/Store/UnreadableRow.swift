/// A row holds a word that this release does not know: a newer one has written it.
struct UnreadableRow: Error, CustomStringConvertible {
    let description: String

    init(_ table: String, _ word: String) {
        description = "\(table) has \"\(word)\", which this release does not know"
    }
}
