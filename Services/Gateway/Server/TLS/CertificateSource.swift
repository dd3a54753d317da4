package import Configuration
import Foundation
import NIOCore
import NIOSSL
import ServiceHost

/// Where the certificate that clients are shown comes from, and its key: PEM itself, or the path of a file with it.
package struct CertificateSource: Sendable {
    static let certificateSetting = "TLS_CERTIFICATE"
    static let keySetting = "TLS_KEY"

    let certificate: String
    let key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    /// Reads the settings; nil where neither is set, for cleartext.
    ///
    /// - `TLS_CERTIFICATE`: the certificate, followed by its chain.
    /// - `TLS_KEY`: its private key, not encrypted.
    package init?(reader: ConfigReader) throws {
        switch (reader.text("TLS_CERTIFICATE"), reader.text("TLS_KEY")) {
        case (nil, nil): return nil
        case (let certificate?, let key?): self.init(certificate: certificate, key: key)
        case (nil, _): throw SettingError(Self.certificateSetting, "is not set, but \(Self.keySetting) is")
        case (_, nil): throw SettingError(Self.keySetting, "is not set, but \(Self.certificateSetting) is")
        }
    }

    /// Reads both and sees that they belong together; blocks on the disk.
    ///
    /// - Throws: `SettingError` with the name of the setting that is wrong.
    func load() throws -> (context: NIOSSLContext, expiry: Int) {
        let chain = try chain()
        let key = try privateKey()
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv12
        // Of TLS 1.2 what HTTP/2 allows (RFC 9113, appendix A); those of 1.3 are not for choosing.
        configuration.cipherSuiteValues = [
            .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        ]
        configuration.applicationProtocols = ["h2", "http/1.1"]
        configuration.shutdownTimeout = .seconds(2)
        do {
            return (try NIOSSLContext(configuration: configuration), chain.map { Int($0.notValidAfter) }.min() ?? 0)
        } catch {
            throw SettingError(Self.keySetting, "is not the key of the certificate in \(Self.certificateSetting)")
        }
    }

    private func chain() throws -> [NIOSSLCertificate] {
        let pem = try KeyText.read(certificate, of: Self.certificateSetting)
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)), !chain.isEmpty else {
            throw SettingError(Self.certificateSetting, "holds no certificate in PEM that can be read")
        }
        return chain
    }

    private func privateKey() throws -> NIOSSLPrivateKey {
        let pem = try KeyText.read(key, of: Self.keySetting)
        // Asked here, since BoringSSL would look for somebody to ask for the passphrase.
        guard !pem.contains("ENCRYPTED") else {
            throw SettingError(Self.keySetting, "is encrypted; a key without a passphrase is needed")
        }
        guard let key = try? NIOSSLPrivateKey(bytes: Array(pem.utf8), format: .pem) else {
            throw SettingError(Self.keySetting, "holds no private key in PEM that can be read")
        }
        return key
    }
}
