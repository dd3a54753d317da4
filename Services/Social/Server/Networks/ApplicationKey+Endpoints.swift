import Foundation

extension ApplicationKey {
    /// Returns the URL of one of the network's other hosts.
    ///
    /// If the network's base URL is set, that server stands in for all hosts of the network.
    ///
    /// - Parameters:
    ///   - name: The name of the setting for this host, without the network's prefix.
    ///   - defaultURL: The default base URL of the network.
    ///   - siblingURL: The default URL of this host.
    /// - Returns: A URL without a slash at the end.
    func endpoint(_ name: String, where defaultURL: String, _ siblingURL: String) -> String {
        others[name] ?? (baseURL == defaultURL ? siblingURL : baseURL)
    }

    /// Returns this deployment's client id and secret at the network.
    ///
    /// - Throws: `unsupported` if the operator has not registered an application.
    func registered() throws -> (id: String, secret: String) {
        guard let id else { throw NetworkError.unsupported("this deployment is not registered with the network") }
        return (id, secret ?? "")
    }
}
