package import Configuration
import Foundation
import NIOCore
import NIOSSL
import ServiceHost

/// The source of the TLS certificate and its key: PEM text, or the path of a PEM file.
package struct CertificateSource: Sendable {
    static let certificateSetting = "TLS_CERTIFICATE"
    static let keySetting = "TLS_KEY"

    let certificate: String
    let key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    /// Reads the settings; returns nil (cleartext) when neither is set.
    ///
    /// - `TLS_CERTIFICATE`: the certificate, followed by its chain.
    /// - `TLS_KEY`: its private key, not encrypted.
    package init?(reader: ConfigReader) throws {
        switch (reader.text("TLS_CERTIFICATE"), reader.text("TLS_KEY")) {
        case (nil, nil): return nil
        case (let certificate?, let key?): self.init(certificate: certificate, key: key)
        case (nil, _): throw SettingError(Self.certificateSetting, "must be set, because \(Self.keySetting) is set")
        case (_, nil): throw SettingError(Self.keySetting, "must be set, because \(Self.certificateSetting) is set")
        }
    }

    /// Reads both and checks that they match; blocks while it reads files.
    ///
    /// - Throws: `SettingError` with the name of the wrong setting.
    func load() throws -> (context: NIOSSLContext, expiry: Int) {
        let chain = try chain()
        let key = try privateKey()
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv12
        // The TLS 1.2 suites that HTTP/2 allows (RFC 9113, appendix A); the suites of TLS 1.3 cannot be selected.
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
            throw SettingError(Self.keySetting, "does not match the certificate in \(Self.certificateSetting)")
        }
    }

    private func chain() throws -> [NIOSSLCertificate] {
        let pem = try KeyText.read(certificate, of: Self.certificateSetting)
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)), !chain.isEmpty else {
            throw SettingError(Self.certificateSetting, "contains no readable PEM certificate")
        }
        return chain
    }

    private func privateKey() throws -> NIOSSLPrivateKey {
        let pem = try KeyText.read(key, of: Self.keySetting)
        // Without this check, BoringSSL would prompt for a passphrase.
        guard !pem.contains("ENCRYPTED") else {
            throw SettingError(Self.keySetting, "is encrypted; use a key without a passphrase")
        }
        guard let key = try? NIOSSLPrivateKey(bytes: Array(pem.utf8), format: .pem) else {
            throw SettingError(Self.keySetting, "contains no readable PEM private key")
        }
        return key
    }
}
