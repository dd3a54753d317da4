/// The public URLs of stored images.
///
/// Tables store only paths, so that a new public address needs no change of rows.
struct MediaLinks: Sendable {
    private let base: String

    /// - Parameter publicURL: The base URL of the suite, without a trailing slash.
    init(publicURL: String) {
        base = publicURL
    }

    func url(_ path: String) -> String { base + path }
}
