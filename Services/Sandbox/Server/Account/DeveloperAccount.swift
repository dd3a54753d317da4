import Crypto
import CryptoExtras
import Foundation
import Wire

/// One customer of the providers: what Apple's and Google's consoles would have given a developer.
struct DeveloperAccount: Sendable {
    static let standard = "roost"

    let name: String
    let apnsKey: P256.Signing.PrivateKey
    let serviceAccountKey: _RSA.Signing.PrivateKey
    let vapidKey: P256.Signing.PrivateKey

    /// Ten letters and digits, as Apple's.
    let keyID: String
    let teamID: String

    /// Makes an account, with keys of its own.
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

    /// The account that is kept; nil where there is none of that name.
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

    /// Keeps the keys, in files that settings may name.
    func save(in folder: PrivateFolder) throws {
        try folder.write(apnsKey.pemRepresentation + "\n", to: "apns-key.pem")
        try folder.write(vapidKey.pemRepresentation + "\n", to: "vapid-key.pem")
        let account = try WireJSON.encoder(sortedKeys: true).encode(
            serviceAccount(tokenURL: ServiceAccount.googleTokenURL)
        )
        try folder.write(String(decoding: account, as: UTF8.self) + "\n", to: "service-account.json")
    }

    /// The app that may be pushed to, and its extensions (`.voip` and their like).
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

/// A service account's file, as Google's console has one downloaded.
package struct ServiceAccount: Codable, Sendable {
    /// Where accounts of Google's own get their access tokens; `aud` of what they sign.
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
