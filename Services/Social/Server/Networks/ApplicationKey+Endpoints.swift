import Foundation

/// Where a network's parts are: most have more than one host.
extension ApplicationKey {
    /// Another address of the same network.
    ///
    /// Whoever stands in for the network at an address of his own stands in for all of it there.
    ///
    /// - Parameters:
    ///   - name: The setting that names it, without the network's name.
    ///   - standard: Where the network itself is.
    ///   - sibling: Where this part of it is then.
    /// - Returns: Without a slash at the end.
    func endpoint(_ name: String, where defaultURL: String, _ siblingURL: String) -> String {
        others[name] ?? (baseURL == defaultURL ? siblingURL : baseURL)
    }

    /// What the network knows this application by.
    ///
    /// - Throws: `unsupported` where the operator has registered none.
    func registered() throws -> (id: String, secret: String) {
        guard let id else { throw NetworkError.unsupported("this server is not registered with the network") }
        return (id, secret ?? "")
    }
}
