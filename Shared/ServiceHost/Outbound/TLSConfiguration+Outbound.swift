package import NIOSSL

extension TLSConfiguration {
    /// Returns the configuration of outbound connections: at least TLS 1.2, verified by the machine's certificate
    /// authorities.
    ///
    /// - Parameter trustedCA: additional certificate authorities in PEM format (`TRUSTED_CA`).
    /// - Returns: the configuration.
    /// - Throws: a `SettingError` if the certificates are invalid.
    package static func outbound(trustedCA: String?) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        guard let trustedCA else { return configuration }
        do {
            let certificates = try NIOSSLCertificate.fromPEMBytes(Array(trustedCA.utf8))
            configuration.additionalTrustRoots = [.certificates(certificates)]
        } catch {
            throw SettingError("TRUSTED_CA", "contains no valid PEM certificates")
        }
        return configuration
    }
}
