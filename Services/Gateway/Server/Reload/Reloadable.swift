package import Configuration

/// A part of the gateway that can apply new settings while it runs.
package protocol Reloadable: Sendable {
    /// The name in log messages, in lower case.
    var name: String { get }

    /// Applies `settings`, or throws and keeps the previous settings.
    func reload(_ settings: ConfigReader) async throws
}
