/// The reasons in Apple's table of error responses ("Handling notification responses from APNs").
enum APNsReason: String, CaseIterable, Sendable {
    case badCollapseId = "BadCollapseId"
    case badDeviceToken = "BadDeviceToken"
    case badExpirationDate = "BadExpirationDate"
    case badMessageId = "BadMessageId"
    case badPriority = "BadPriority"
    case badTopic = "BadTopic"
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    case duplicateHeaders = "DuplicateHeaders"
    case idleTimeout = "IdleTimeout"
    case invalidPushType = "InvalidPushType"
    case missingDeviceToken = "MissingDeviceToken"
    case missingTopic = "MissingTopic"
    case payloadEmpty = "PayloadEmpty"
    case topicDisallowed = "TopicDisallowed"
    /// Not one of Apple's reasons. Apple accepts a payload that is not a JSON object, and no device shows it.
    case malformedPayload = "MalformedPayload"
    case badCertificate = "BadCertificate"
    case badCertificateEnvironment = "BadCertificateEnvironment"
    case badEnvironmentKeyIdInToken = "BadEnvironmentKeyIdInToken"
    /// Not in Apple's table, but observed in responses.
    case badEnvironmentKeyInToken = "BadEnvironmentKeyInToken"
    case expiredProviderToken = "ExpiredProviderToken"
    case forbidden = "Forbidden"
    case invalidProviderToken = "InvalidProviderToken"
    case missingProviderToken = "MissingProviderToken"
    case unrelatedKeyIdInToken = "UnrelatedKeyIdInToken"
    case badPath = "BadPath"
    case methodNotAllowed = "MethodNotAllowed"
    case expiredToken = "ExpiredToken"
    case unregistered = "Unregistered"
    case payloadTooLarge = "PayloadTooLarge"
    case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
    case tooManyRequests = "TooManyRequests"
    case internalServerError = "InternalServerError"
    case serviceUnavailable = "ServiceUnavailable"
    case shutdown = "Shutdown"

    var status: Int {
        switch self {
        case .badCertificate, .badCertificateEnvironment, .badEnvironmentKeyIdInToken, .badEnvironmentKeyInToken,
            .expiredProviderToken, .forbidden, .invalidProviderToken, .missingProviderToken, .unrelatedKeyIdInToken:
            403
        case .badPath: 404
        case .methodNotAllowed: 405
        case .expiredToken, .unregistered: 410
        case .payloadTooLarge: 413
        case .tooManyProviderTokenUpdates, .tooManyRequests: 429
        case .internalServerError: 500
        case .serviceUnavailable, .shutdown: 503
        default: 400
        }
    }

    /// Returns the usual reason of a status, for a script rule that names only the status.
    static func usual(for status: Int) -> String {
        switch status {
        case 403: invalidProviderToken.rawValue
        case 404: badPath.rawValue
        case 405: methodNotAllowed.rawValue
        case 410: unregistered.rawValue
        case 413: payloadTooLarge.rawValue
        case 429: tooManyRequests.rawValue
        case 503: serviceUnavailable.rawValue
        case 500...: internalServerError.rawValue
        default: badDeviceToken.rawValue
        }
    }
}
