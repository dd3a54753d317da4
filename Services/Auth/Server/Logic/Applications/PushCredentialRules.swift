import AuthAPI
import Crypto
import CryptoExtras
import Foundation
import Wire

/// The validation of push credentials.
///
/// Each value is parsed as `push` will use it, so that the caller learns of an error at once, not by a notification
/// that fails. No error message contains any part of the credentials.
enum PushCredentialRules {
    /// The longest key or key file, in bytes.
    private static let maximumSecret = 16_384
    private static let maximumSubject = 255
    private static let minimumRSABits = 2_048

    /// Validates Apple's credentials: a .p8 file and its three ids.
    static func apns(_ given: PushCredentials.APNs) throws -> PushCredentials.APNs {
        let key = try secret(given.key, "apns.key")
        guard let read = try? P256.Signing.PrivateKey(pemRepresentation: key) else {
            throw APIError.invalid(
                "apns.key",
                "\"apns.key\" must be the PEM of a P-256 private key, as in Apple's .p8 files"
            )
        }
        return PushCredentials.APNs(
            key: read.pemRepresentation,
            keyId: try appleID(given.keyId, "apns.keyId"),
            teamId: try appleID(given.teamId, "apns.teamId"),
            topic: try topic(given.topic)
        )
    }

    /// Validates Google's credentials: the key file of a service account, as an object or as a string.
    ///
    /// Only the fields in use are stored. The token URL is not one of them, because a customer's file must not choose
    /// the address of a request.
    static func fcm(_ given: PushSetupChanges.ServiceAccount) throws -> PushCredentials.FCM {
        let field = "fcm.serviceAccount"
        let account = try fields(of: given.serviceAccount, field)
        guard account["type"] == .string("service_account") else {
            throw APIError.invalid("\(field).type", "\"\(field)\" must be the key file of a service account")
        }
        let project = try text(account, "project_id", in: field)
        guard project.utf8.count <= 128, project.utf8.allSatisfy(\.isProjectLetter) else {
            throw APIError.invalid("\(field).project_id", "\"\(field).project_id\" must be a Firebase project's id")
        }
        let email = try text(account, "client_email", in: field)
        guard email.utf8.count <= 255, email.contains("@"), email.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw APIError.invalid("\(field).client_email", "\"\(field).client_email\" must be an e-mail address")
        }
        let key = try secret(text(account, "private_key", in: field), "\(field).private_key")
        guard let read = try? _RSA.Signing.PrivateKey(pemRepresentation: key), read.keySizeInBits >= minimumRSABits
        else {
            throw APIError.invalid(
                "\(field).private_key",
                "\"\(field).private_key\" must be the PEM of an RSA private key of \(minimumRSABits) bits or more"
            )
        }
        var stored: [String: JSONValue] = [
            "type": .string("service_account"), "project_id": .string(project), "client_email": .string(email),
            "private_key": .string(read.pkcs8PEMRepresentation),
        ]
        if case .string(let id) = account["private_key_id"] { stored["private_key_id"] = .string(id) }
        return PushCredentials.FCM(
            serviceAccount: String(decoding: try JSONValue.object(stored).compact(), as: UTF8.self)
        )
    }

    /// Validates the application's key for browsers' push services (RFC 8292).
    static func vapid(_ given: PushCredentials.VAPID) throws -> PushCredentials.VAPID {
        let key = try secret(given.privateKey, "vapid.privateKey")
        guard let read = privateKey(key) else {
            throw APIError.invalid(
                "vapid.privateKey",
                "\"vapid.privateKey\" must be a P-256 private key: 32 bytes in base64url, or PEM"
            )
        }
        guard !given.subject.isEmpty else { throw APIError.missing("vapid.subject") }
        let isAddress = ["mailto:", "https://"].contains { scheme in
            given.subject.hasPrefix(scheme) && given.subject.count > scheme.count
        }
        guard isAddress, given.subject.utf8.count <= maximumSubject,
            given.subject.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw APIError.invalid("vapid.subject", "\"vapid.subject\" must be a mailto: or https: address")
        }
        return PushCredentials.VAPID(
            privateKey: Base64URL.encode(read.rawRepresentation),
            subject: given.subject
        )
    }

    static func privateKey(_ text: String) -> P256.Signing.PrivateKey? {
        // The callers report a key in neither format as an invalid field.
        guard let raw = Base64URL.decode(text) else { return try? P256.Signing.PrivateKey(pemRepresentation: text) }
        return try? P256.Signing.PrivateKey(rawRepresentation: raw)
    }

    private static func secret(_ text: String, _ field: String) throws -> String {
        guard !text.isEmpty else { throw APIError.missing(field) }
        guard text.utf8.count <= maximumSecret else {
            throw APIError.invalid(field, "\"\(field)\" must have at most \(maximumSecret) bytes", code: "too_long")
        }
        return text
    }

    /// Validates an id of ten capital letters and digits.
    private static func appleID(_ text: String, _ field: String) throws -> String {
        guard !text.isEmpty else { throw APIError.missing(field) }
        guard text.utf8.count == 10, text.utf8.allSatisfy(\.isCapitalOrDigit) else {
            throw APIError.invalid(field, "\"\(field)\" must be the ten capital letters and digits that Apple shows")
        }
        return text
    }

    private static func topic(_ text: String) throws -> String {
        guard !text.isEmpty else { throw APIError.missing("apns.topic") }
        guard text.utf8.count <= 155, text.utf8.allSatisfy(\.isBundleLetter) else {
            throw APIError.invalid("apns.topic", "\"apns.topic\" must be the app's bundle id, such as com.example.app")
        }
        return text
    }

    private static func fields(of value: JSONValue, _ field: String) throws -> [String: JSONValue] {
        switch value {
        case .object(let fields): return fields
        case .string(let text):
            // The parse error adds nothing to the message.
            guard (try? JSONValidator.check(Data(text.utf8))) != nil,
                case .object(let fields) = try? WireJSON.decoder().decode(JSONValue.self, from: Data(text.utf8))
            else { throw APIError.invalid(field, "\"\(field)\" must be a JSON object, or a string that contains one") }
            return fields
        default:
            throw APIError.invalid(
                field,
                "\"\(field)\" must be a JSON object, or a string that contains one",
                code: "invalid_type"
            )
        }
    }

    private static func text(_ fields: [String: JSONValue], _ name: String, in field: String) throws -> String {
        switch fields[name] {
        case .string(let text) where !text.isEmpty: return text
        case nil, .null, .string: throw APIError.missing("\(field).\(name)")
        default:
            throw APIError.invalid(
                "\(field).\(name)",
                "the field \"\(field).\(name)\" must be a string",
                code: "invalid_type"
            )
        }
    }
}

extension UInt8 {
    private var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
    fileprivate var isCapitalOrDigit: Bool { isDigit || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }

    fileprivate var isBundleLetter: Bool {
        isCapitalOrDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self)
            || self == UInt8(ascii: ".") || self == UInt8(ascii: "-")
    }

    /// The id of a domain-scoped project contains the domain and a colon.
    fileprivate var isProjectLetter: Bool { isBundleLetter || self == UInt8(ascii: ":") }
}

extension PushSetup {
    /// Returns the public part of stored credentials.
    init(_ credentials: PushCredentials) throws {
        self.init(
            apns: credentials.apns.map { APNs(keyId: $0.keyId, teamId: $0.teamId, topic: $0.topic) },
            fcm: try credentials.fcm.map { fcm in
                let account = try WireJSON.decoder().decode(ServiceAccount.self, from: Data(fcm.serviceAccount.utf8))
                return FCM(projectId: account.project_id, clientEmail: account.client_email)
            },
            vapid: credentials.vapid.map { vapid in
                let key = PushCredentialRules.privateKey(vapid.privateKey)
                return VAPID(
                    publicKey: key.map { Base64URL.encode($0.publicKey.x963Representation) } ?? "",
                    subject: vapid.subject
                )
            }
        )
    }

    private struct ServiceAccount: Decodable {
        var project_id: String
        var client_email: String
    }
}
