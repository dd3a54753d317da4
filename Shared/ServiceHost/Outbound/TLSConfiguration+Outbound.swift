package import NIOSSL

extension TLSConfiguration {
    /// How whoever is outside is believed to be who he says: by TLS 1.2 at least, and the machine's authorities.
    ///
    /// `trustedCA` are certificates of authorities that are trusted beside those (`TRUSTED_CA`), PEM.
    ///
    /// - Throws: `SettingError` for certificates that cannot be read.
    package static func outbound(trustedCA: String?) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        guard let trustedCA else { return configuration }
        do {
            let certificates = try NIOSSLCertificate.fromPEMBytes(Array(trustedCA.utf8))
            configuration.additionalTrustRoots = [.certificates(certificates)]
        } catch {
            throw SettingError("TRUSTED_CA", "holds no certificates that can be read")
        }
        return configuration
    }
}
