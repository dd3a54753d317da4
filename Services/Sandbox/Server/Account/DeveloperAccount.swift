import Crypto
import CryptoExtras
import Foundation
import Wire

/// A developer's account with the providers: the keys and ids that the consoles of Apple and Google would issue.
struct DeveloperAccount: Sendable {
    static let standard = "roost"

    let name: String
    let apnsKey: P256.Signing.PrivateKey
    let serviceAccountKey: _RSA.Signing.PrivateKey
    let vapidKey: P256.Signing.PrivateKey

    /// Ten letters and digits, as Apple issues them.
    let keyID: String
    let teamID: String

    init(making name: String) throws {
        try self.init(
            name: name,
            apnsKey: P256.Signing.PrivateKey(),
            serviceAccountKey: _RSA.Signing.PrivateKey(keySize: .bits2048),
            vapidKey: P256.Signing.PrivateKey()
        )
    }

    private init(
        name: String,
        apnsKey: P256.Signing.PrivateKey,
        serviceAccountKey: _RSA.Signing.PrivateKey,
        vapidKey: P256.Signing.PrivateKey
    ) throws {
        self.name = name
        self.apnsKey = apnsKey
        self.serviceAccountKey = serviceAccountKey
        self.vapidKey = vapidKey
        let isStandard = name == Self.standard
        keyID = isStandard ? "SANDBOXKEY" : Self.identifier(of: "key \(name)")
        teamID = isStandard ? "SANDBOXDEV" : Self.identifier(of: "team \(name)")
    }

    /// Reads a stored account, or returns nil when the folder has none.
    init?(_ name: String, storedIn folder: PrivateFolder) throws {
        guard let apns = try folder.read("apns-key.pem"), let vapid = try folder.read("vapid-key.pem"),
            let service = try folder.read("service-account.json")
        else { return nil }
        let account = try WireJSON.decoder().decode(ServiceAccount.self, from: Data(service.utf8))
        try self.init(
            name: name,
            apnsKey: P256.Signing.PrivateKey(pemRepresentation: apns),
            serviceAccountKey: _RSA.Signing.PrivateKey(pemRepresentation: account.privateKey),
            vapidKey: P256.Signing.PrivateKey(pemRepresentation: vapid)
        )
    }

    /// Writes the keys to files that a service's settings can name.
    func save(in folder: PrivateFolder) throws {
        try folder.write(apnsKey.pemRepresentation + "\n", to: "apns-key.pem")
        try folder.write(vapidKey.pemRepresentation + "\n", to: "vapid-key.pem")
        let account = try WireJSON.encoder(sortedKeys: true).encode(
            serviceAccount(tokenURL: ServiceAccount.googleTokenURL)
        )
        try folder.write(String(decoding: account, as: UTF8.self) + "\n", to: "service-account.json")
    }

    /// The app that receives notifications.
    ///
    /// Topics with a suffix, such as `.voip`, belong to it too.
    var topic: String { "org.example.\(name)" }
    var project: String { "\(name)-sandbox" }
    var clientEmail: String { "push@\(project).iam.gserviceaccount.com" }

    func serviceAccount(tokenURL: String) -> ServiceAccount {
        ServiceAccount(
            projectId: project,
            privateKeyId: Self.identifier(of: "service account \(name)").lowercased(),
            privateKey: serviceAccountKey.pkcs8PEMRepresentation + "\n",
            clientEmail: clientEmail,
            tokenUri: tokenURL
        )
    }

    private static func identifier(of text: String) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        return String(SHA256.hash(data: Data(text.utf8)).prefix(10).map { alphabet[Int($0) % alphabet.count] })
    }
}

/// The service account file that Google's console offers for download.
package struct ServiceAccount: Codable, Sendable {
    /// The token endpoint of real Google accounts, which is also the `aud` of their assertions.
    static let googleTokenURL = "https://oauth2.googleapis.com/token"

    package var type = "service_account"
    package var projectId: String
    package var privateKeyId: String
    package var privateKey: String
    package var clientEmail: String
    package var tokenUri: String

    private enum CodingKeys: String, CodingKey {
        case type
        case projectId = "project_id"
        case privateKeyId = "private_key_id"
        case privateKey = "private_key"
        case clientEmail = "client_email"
        case tokenUri = "token_uri"
    }
}
