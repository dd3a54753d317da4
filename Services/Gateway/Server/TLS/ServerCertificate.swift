import Foundation
import Logging
import Metrics
import NIOSSL

/// The TLS certificate of new connections, loaded with the settings.
package final class ServerCertificate: Sendable {
    enum Validity { case valid, expiring, expired }

    /// The remaining seconds at which operators are warned; automatic renewal happens earlier.
    private static let warning = 14 * 86_400

    let context: NIOSSLContext
    /// The earliest expiry in the chain, in seconds since 1970.
    private let expiry: Int

    /// Loads the certificate and its key; blocks while it reads files.
    ///
    /// - Throws: `SettingError` with the name of the wrong setting.
    package init(_ source: CertificateSource) throws {
        (context, expiry) = try source.load()
    }

    func logExpiry(_ logger: Logger) {
        Gauge(label: "roost_gateway_certificate_expiry_timestamp_seconds").record(expiry)
        let date = Date(timeIntervalSince1970: TimeInterval(expiry)).formatted(.iso8601)
        switch validity(at: Date()) {
        case .expired: logger.error("certificate has expired", metadata: ["expired": "\(date)"])
        case .expiring: logger.warning("certificate expires soon", metadata: ["expires": "\(date)"])
        case .valid: logger.info("certificate loaded", metadata: ["expires": "\(date)"])
        }
    }

    func validity(at now: Date) -> Validity {
        let left = expiry - Int(now.timeIntervalSince1970)
        return left < 0 ? .expired : left < Self.warning ? .expiring : .valid
    }
}
