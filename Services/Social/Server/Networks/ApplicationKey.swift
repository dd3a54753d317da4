import Foundation

/// What a network knows this deployment by: `<NETWORK>_CLIENT_ID` and `<NETWORK>_CLIENT_SECRET`, and where it is.
struct ApplicationKey: Sendable {
    /// `<NETWORK>_URL`, without a slash at the end.
    var baseURL: String
    /// Nil where the operator has registered nothing: what needs an application's key is then not possible.
    var id: String?
    var secret: String?
    /// Other settings of this network by the rest of their names, as `VERIFY_TOKEN` for `FACEBOOK_VERIFY_TOKEN`.
    var others: [String: String] = [:]
}

extension ApplicationKey: CustomStringConvertible, CustomReflectable {
    var description: String { "ApplicationKey(\(baseURL), hidden)" }
    var customMirror: Mirror { Mirror(self, children: ["baseURL": baseURL]) }
}

/// What a connector is made of.
struct ConnectorParts: Sendable {
    var key: ApplicationKey
    var http: any NetworkHTTP
    var now: @Sendable () -> Date
}
