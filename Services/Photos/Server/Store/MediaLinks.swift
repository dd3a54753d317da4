/// Where clients read what this service keeps.
///
/// The tables have paths alone, so that a suite that moves to another address needs to change no row.
struct MediaLinks: Sendable {
    private let base: String

    /// - Parameter publicURL: where clients reach the suite, without a slash at the end.
    init(publicURL: String) {
        base = publicURL
    }

    /// The address of a path as it is kept, `/media/…`.
    func url(_ path: String) -> String { base + path }
}
