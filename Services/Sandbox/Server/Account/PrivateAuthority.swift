import Crypto
import Foundation
import NIOSSL
import SwiftASN1
import X509

/// A private certificate authority, trusted only by clients that are configured to, and the certificate that it signs.
///
/// The authority can be stored, so that clients continue to trust it. The server's certificate is new at each start.
struct PrivateAuthority: Sendable {
    private static let day: TimeInterval = 86_400

    private let key: P256.Signing.PrivateKey
    private let certificate: Certificate
    /// The authority's certificate, for clients that trust it.
    let pem: String

    /// Loads the stored authority, or creates and stores one.
    init(storedIn folder: PrivateFolder?, now: Date) throws {
        if let folder, let keyPEM = try folder.read("authority-key.pem"), let pem = try folder.read("authority.pem") {
            key = try P256.Signing.PrivateKey(pemRepresentation: keyPEM)
            certificate = try Certificate(pemEncoded: pem)
            self.pem = pem
            return
        }
        let key = P256.Signing.PrivateKey()
        let name = try DistinguishedName {
            OrganizationName("Roost")
            CommonName("Roost sandbox authority")
        }
        let publicKey = Certificate.PublicKey(key.publicKey)
        let certificate = try Certificate(
            version: .v3,
            serialNumber: .init(),
            publicKey: publicKey,
            notValidBefore: now - Self.day,
            notValidAfter: now + 3_650 * Self.day,
            issuer: name,
            subject: name,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                SubjectKeyIdentifier(hash: publicKey)
            },
            issuerPrivateKey: .init(key)
        )
        self.key = key
        self.certificate = certificate
        pem = try certificate.serializeAsPEM().pemString + "\n"
        try folder?.write(key.pemRepresentation + "\n", to: "authority-key.pem")
        try folder?.write(pem, to: "authority.pem")
    }

    /// Returns the TLS context of a server on this machine, for HTTP/2 and HTTP/1.1.
    ///
    /// The certificate has `localhost`, `sandbox`, the loopback addresses and the DNS names in `names`.
    func serverContext(names: [String], now: Date) throws -> NIOSSLContext {
        let own = P256.Signing.PrivateKey()
        let leaf = try leaf(for: own, names: names, now: now)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(try NIOSSLCertificate(bytes: Array(leaf.utf8), format: .pem))],
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(own.pemRepresentation.utf8), format: .pem))
        )
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["h2", "http/1.1"]
        return try NIOSSLContext(configuration: configuration)
    }

    private func leaf(for own: P256.Signing.PrivateKey, names: [String], now: Date) throws -> String {
        let publicKey = Certificate.PublicKey(own.publicKey)
        let loopback = [[127, 0, 0, 1], [UInt8](repeating: 0, count: 15) + [1]]
        let subjectNames: [GeneralName] =
            (["localhost", "sandbox"] + names).map { .dnsName($0) }
            + loopback.map { .ipAddress(ASN1OctetString(contentBytes: $0[...])) }
        let leaf = try Certificate(
            version: .v3,
            serialNumber: .init(),
            publicKey: publicKey,
            notValidBefore: now - Self.day,
            notValidAfter: now + 365 * Self.day,
            issuer: certificate.subject,
            subject: try DistinguishedName { CommonName("localhost") },
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames(subjectNames)
                SubjectKeyIdentifier(hash: publicKey)
                AuthorityKeyIdentifier(keyIdentifier: SubjectKeyIdentifier(hash: certificate.publicKey).keyIdentifier)
            },
            issuerPrivateKey: .init(key)
        )
        return try leaf.serializeAsPEM().pemString
    }
}
