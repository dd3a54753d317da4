import Crypto
import Foundation
import Wire

/// The settings and keys that a push server needs to push to the sandbox.
package struct SandboxCredentials: Codable, Sendable {
    package struct Apple: Codable, Sendable {
        /// PKCS#8 in PEM, as in Apple's `.p8` files.
        package var key: String
        package var keyId: String
        package var teamId: String
        package var topic: String
        package var url: String
        package var sandboxUrl: String
    }

    package struct Firebase: Codable, Sendable {
        package var serviceAccount: ServiceAccount
        package var url: String
        package var tokenUrl: String
    }

    package struct Vapid: Codable, Sendable {
        /// 32 bytes in base64url.
        package var privateKey: String
        /// 65 bytes in base64url: the `applicationServerKey` of browsers.
        package var publicKey: String
        package var subject: String
    }

    package struct Mail: Codable, Sendable {
        /// `smtp://…`, with user name and password.
        package var url: String
        /// A sender address that the sandbox accepts.
        package var from: String
    }

    package var account: String
    package var apns: Apple
    package var fcm: Firebase
    package var vapid: Vapid
    package var mail: Mail
    /// The certificate of the authority that signs the sandbox's TLS certificate, in PEM.
    package var authority: String

    init(_ account: DeveloperAccount, at addresses: SandboxAddresses, authority: String) {
        self.account = account.name
        apns = Apple(
            key: account.apnsKey.pemRepresentation + "\n",
            keyId: account.keyID,
            teamId: account.teamID,
            topic: account.topic,
            url: addresses.apns,
            sandboxUrl: addresses.apnsSandbox
        )
        fcm = Firebase(
            serviceAccount: account.serviceAccount(tokenURL: addresses.fcmToken),
            url: addresses.fcm,
            tokenUrl: addresses.fcmToken
        )
        vapid = Vapid(
            privateKey: Base64URL.encode(account.vapidKey.rawRepresentation),
            publicKey: Base64URL.encode(account.vapidKey.publicKey.x963Representation),
            subject: "mailto:sandbox@example.org"
        )
        mail = Mail(
            url: "smtp://\(account.name):\(SMTPLogins.password(of: account))@\(addresses.smtp)",
            from: "no-reply@example.org"
        )
        self.authority = authority
    }
}

/// The addresses of the sandbox as the client can reach them.
package struct SandboxAddresses: Sendable {
    /// For example `http://127.0.0.1:8090`.
    package let base: String
    package let apns: String
    package let apnsSandbox: String
    /// `host:port`.
    package let smtp: String

    package var fcm: String { "\(base)/fcm" }
    package var fcmToken: String { "\(base)/fcm/token" }
}
