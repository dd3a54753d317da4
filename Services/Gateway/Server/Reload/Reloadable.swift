package import Configuration

/// What takes up other settings while it runs.
package protocol Reloadable: Sendable {
    /// What the log calls it, in lower case.
    var name: String { get }

    /// Goes on with `settings`, or throws and stays as it was.
    func reload(_ settings: ConfigReader) async throws
}
