import NIOCore
import NIOHTTP1
import Wire

/// An error response of FCM, in the format of Google's APIs (`google.rpc.Status`) with FCM's own code in its details.
struct FCMError: Error {
    /// FCM's error codes (`google.firebase.fcm.v1.FcmError.ErrorCode`).
    enum Code: String, CaseIterable, Sendable {
        case unspecified = "UNSPECIFIED_ERROR"
        case invalidArgument = "INVALID_ARGUMENT"
        case unregistered = "UNREGISTERED"
        case senderIDMismatch = "SENDER_ID_MISMATCH"
        case quotaExceeded = "QUOTA_EXCEEDED"
        case unavailable = "UNAVAILABLE"
        case `internal` = "INTERNAL"
        case thirdPartyAuthError = "THIRD_PARTY_AUTH_ERROR"
    }

    let httpStatus: Int
    /// Google's canonical code, such as `NOT_FOUND`.
    let status: String
    let message: String
    var code: Code?
    /// The paths of the invalid fields in the request, each with a description.
    var violations: [(field: String, description: String)] = []

    static func invalid(_ field: String, _ description: String) -> FCMError {
        FCMError(
            httpStatus: 400,
            status: "INVALID_ARGUMENT",
            message: description,
            code: .invalidArgument,
            violations: [(field, description)]
        )
    }

    /// Returns the error for JSON that is not a message, which Google's API layer rejects before FCM.
    static func malformed(_ field: String, _ description: String) -> FCMError {
        FCMError(
            httpStatus: 400,
            status: "INVALID_ARGUMENT",
            message: "Invalid JSON payload received. \(description)",
            violations: [(field, "Invalid JSON payload received. \(description)")]
        )
    }

    static let unauthenticated = FCMError(
        httpStatus: 401,
        status: "UNAUTHENTICATED",
        message: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other "
            + "valid authentication credential."
    )

    static let noProject = FCMError(
        httpStatus: 404,
        status: "NOT_FOUND",
        message: "Requested entity was not found."
    )

    static let permissionDenied = FCMError(
        httpStatus: 403,
        status: "PERMISSION_DENIED",
        message: "Permission 'cloudmessaging.messages.create' denied on resource."
    )

    /// Creates the error that a script rule names by FCM's code, by Google's code, or by the status alone.
    init(_ rule: ScriptRule) {
        let code = rule.reason.flatMap(Code.init) ?? (rule.reason == nil ? Self.usual(for: rule.status ?? 500) : nil)
        let googles = Self.canonical.first { $0.name == rule.reason }?.status
        let httpStatus = rule.status ?? code.map(Self.usualStatus) ?? googles ?? 400
        self.init(
            httpStatus: httpStatus,
            status: Self.name(of: httpStatus, reason: rule.reason, code: code),
            message: code == .unregistered ? "Requested entity was not found." : "Scripted: \(rule.reason ?? "error")",
            code: code
        )
        if code == .invalidArgument {
            violations = [("message.token", "The registration token is not a valid FCM registration token")]
        }
    }

    init(
        httpStatus: Int,
        status: String,
        message: String,
        code: Code? = nil,
        violations: [(field: String, description: String)] = []
    ) {
        self.httpStatus = httpStatus
        self.status = status
        self.message = message
        self.code = code
        self.violations = violations
    }

    var reason: String { code?.rawValue ?? status }

    // MARK: Google's names

    private static let canonical: [(status: Int, name: String)] = [
        (400, "INVALID_ARGUMENT"), (401, "UNAUTHENTICATED"), (403, "PERMISSION_DENIED"), (404, "NOT_FOUND"),
        (409, "ABORTED"), (429, "RESOURCE_EXHAUSTED"), (500, "INTERNAL"), (503, "UNAVAILABLE"),
        (504, "DEADLINE_EXCEEDED"),
    ]

    private static func name(of httpStatus: Int, reason: String?, code: Code?) -> String {
        if code == nil, let reason { return reason }
        return canonical.first { $0.status == httpStatus }?.name ?? "UNKNOWN"
    }

    private static func usual(for status: Int) -> Code? {
        switch status {
        case 400: .invalidArgument
        case 403: .senderIDMismatch
        case 404: .unregistered
        case 429: .quotaExceeded
        case 503: .unavailable
        case 500...: .internal
        default: nil
        }
    }

    private static func usualStatus(of code: Code) -> Int {
        switch code {
        case .invalidArgument: 400
        case .thirdPartyAuthError: 401
        case .senderIDMismatch: 403
        case .unregistered: 404
        case .quotaExceeded: 429
        case .unavailable: 503
        case .unspecified, .internal: 500
        }
    }
}

extension FCMError {
    private struct Body: Encodable {
        struct Status: Encodable {
            let code: Int
            let message: String
            let status: String
            let details: [JSONValue]?
        }

        let error: Status
    }

    var response: WebResponse {
        var details: [JSONValue] = []
        if let code {
            details.append(
                Self.detail("google.firebase.fcm.v1.FcmError", ["errorCode": .string(code.rawValue)])
            )
        }
        if !violations.isEmpty {
            let list = violations.map { violation -> JSONValue in
                .object(["field": .string(violation.field), "description": .string(violation.description)])
            }
            details.append(Self.detail("google.rpc.BadRequest", ["fieldViolations": .array(list)]))
        }
        let body = Body(
            error: .init(code: httpStatus, message: message, status: status, details: details.isEmpty ? nil : details)
        )
        let status = HTTPResponseStatus(statusCode: httpStatus)
        // Encoding strings and numbers cannot fail.
        return (try? .json(body, status: status)) ?? WebResponse(status)
    }

    private static func detail(_ type: String, _ fields: [String: JSONValue]) -> JSONValue {
        .object(fields.merging(["@type": .string("type.googleapis.com/\(type)")]) { first, _ in first })
    }
}
