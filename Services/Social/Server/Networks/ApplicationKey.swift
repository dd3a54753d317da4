import Foundation

/// The registration at a network (`<NETWORK>_CLIENT_ID`, `<NETWORK>_CLIENT_SECRET`), and the network's URL.
struct ApplicationKey: Sendable {
    /// `<NETWORK>_URL`, without a slash at the end.
    var baseURL: String
    /// Nil if the operator has not registered an application; calls that need one then fail.
    var id: String?
    var secret: String?
    /// Further settings by their names without the network's prefix, such as `VERIFY_TOKEN` for `FACEBOOK_VERIFY_TOKEN`.
    var others: [String: String] = [:]
}

extension ApplicationKey: CustomStringConvertible, CustomReflectable {
    var description: String { "ApplicationKey(\(baseURL), hidden)" }
    var customMirror: Mirror { Mirror(self, children: ["baseURL": baseURL]) }
}

/// The dependencies of a connector.
struct ConnectorParts: Sendable {
    var key: ApplicationKey
    var http: any NetworkHTTP
    var now: @Sendable () -> Date
}
