import Foundation
import Logging
import Metrics
import NIOSSL

/// The certificate that new connections are shown, read when the settings are.
package final class ServerCertificate: Sendable {
    enum Validity { case valid, expiring, expired }

    /// What is left when operators are warned: renewal by machines happens well before.
    private static let warning = 14 * 86_400

    /// What a new connection is encrypted with.
    let context: NIOSSLContext
    /// When the first certificate of the chain expires, in seconds since 1970.
    private let expiry: Int

    /// Blocks on the disk.
    ///
    /// - Throws: `SettingError` with the name of the setting that is wrong.
    package init(_ source: CertificateSource) throws {
        (context, expiry) = try source.load()
    }

    /// Says when the certificate expires, the louder the sooner that is.
    func logExpiry(_ logger: Logger) {
        Gauge(label: "roost_gateway_certificate_expiry_timestamp_seconds").record(expiry)
        let date = Date(timeIntervalSince1970: TimeInterval(expiry)).formatted(.iso8601)
        switch validity(at: Date()) {
        case .expired: logger.error("the certificate has expired", metadata: ["expired": "\(date)"])
        case .expiring: logger.warning("the certificate expires soon", metadata: ["expires": "\(date)"])
        case .valid: logger.info("certificate loaded", metadata: ["expires": "\(date)"])
        }
    }

    func validity(at now: Date) -> Validity {
        let left = expiry - Int(now.timeIntervalSince1970)
        return left < 0 ? .expired : left < Self.warning ? .expiring : .valid
    }
}
