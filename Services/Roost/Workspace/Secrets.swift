import Credentials
import Crypto
import Foundation
import Glibc
import Wire

/// The suite's secrets on this machine, created by the first run and stored in `.roost/secrets.env`.
struct Secrets: Sendable {
    /// The values by setting name; database passwords are named `DATABASE_PASSWORD_<SERVICE>`.
    let values: [String: String]

    static func read(in workspace: Workspace) throws -> Secrets {
        Secrets(values: try EnvironmentFile(path: workspace.secretsFile).read())
    }

    /// Reads the secrets and creates missing ones; the operator's settings take precedence and are not stored.
    static func prepare(in workspace: Workspace, environment: [String: String]) throws -> Secrets {
        let saved = try read(in: workspace).values
        let given = environment.filter { (names + [sharedKey]).contains($0.key) && !$0.value.isEmpty }
        let hasData = FileManager.default.fileExists(atPath: "\(workspace.postgres)/data")
        let hasEncryptionKeys = (encryptionKeys + [sharedKey]).contains { saved[$0] != nil || given[$0] != nil }
        if !hasEncryptionKeys, hasData {
            let removal =
                geteuid() == 0
                ? "`roost data remove \(workspace.dataName) --yes --force`" : "removing \(workspace.postgres)"
            throw Workspace.Problem(
                """
                \(workspace.secretsFile) is missing; without it, data in \(workspace.postgres) cannot be decrypted.
                Restore it from a backup, or start with empty data after \(removal).
                """
            )
        }
        var values = saved
        // If the operator distributes public keys, the private keys are not stored here.
        let hasKeys = environment["SERVICE_PUBLIC_KEYS"]?.isEmpty == false
        for name in names where values[name] == nil && given[name] == nil {
            // If the operator sets the shared key, nothing may be encrypted with a key that the operator does not have.
            if encryptionKeys.contains(name), given[sharedKey] != nil { continue }
            if hasKeys, name.hasSuffix(ServiceKeys.settingSuffix) { continue }
            values[name] = random(name)
        }
        if values != saved { try save(values, in: workspace) }
        return Secrets(values: values.merging(given) { $1 })
    }

    /// Returns the password of the demo account, and creates it if needed; only the sandbox's demo uses it.
    static func demoPassword(in workspace: Workspace, given: [String: String]) throws -> String {
        if let password = given["DEMO_PASSWORD"], !password.isEmpty { return password }
        var values = try read(in: workspace).values
        if let password = values["DEMO_PASSWORD"] { return password }
        let password = Base64URL.encode(randomKey())
        values["DEMO_PASSWORD"] = password
        try save(values, in: workspace)
        return password
    }

    private static func save(_ values: [String: String], in workspace: Workspace) throws {
        try workspace.create()
        try EnvironmentFile(path: workspace.secretsFile).write(
            values,
            heading: "Created by `roost up`. These secrets decrypt and forge all data: keep them safe and private."
        )
    }

    static func ephemeral() -> Secrets {
        Secrets(values: Dictionary(uniqueKeysWithValues: names.map { ($0, random($0)) }))
    }

    /// The key that auth and social shared in earlier releases; it still decrypts if it is set.
    private static let sharedKey = "TOKEN_ENCRYPTION_KEY"
    private static let encryptionKeys = SuiteProgram.all.compactMap(\.encryptionKey)
    private static let names =
        ["VAPID_PRIVATE_KEY"] + encryptionKeys + ServiceKeys.names.map(ServiceKeys.setting)
        + SuiteProgram.all.filter(\.hasDatabase).map(\.passwordKey)

    /// Returns a random secret: hexadecimal for passwords, which URLs contain, base64url for P-256, otherwise base64.
    private static func random(_ name: String) -> String {
        if name.hasSuffix(ServiceKeys.settingSuffix) { return ServiceKeys.generate() }
        if name == "VAPID_PRIVATE_KEY" { return Base64URL.encode(P256.Signing.PrivateKey().rawRepresentation) }
        let key = randomKey()
        return name.hasPrefix("DATABASE_PASSWORD")
            ? key.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() : key.base64EncodedString()
    }

    private static func randomKey() -> Data {
        var generator = SystemRandomNumberGenerator()
        return Data((0..<32).map { _ in generator.next() as UInt8 })
    }
}
