package import Foundation
import Wire

/// The state of push's queues, for the operator.
package struct QueueReport: Codable, Hashable, Sendable {
    /// The notifications of one application that wait for one provider.
    package struct ProviderQueue: Codable, Hashable, Sendable {
        package var applicationId: String
        /// `apns-production`, `apns-sandbox`, `fcm`, or the origin of a browser's push service.
        package var service: String
        package var waiting: Int
        package var oldest: Date?
        package var circuit: Circuit?

        package init(applicationId: String, service: String, waiting: Int, oldest: Date?, circuit: Circuit?) {
            self.applicationId = applicationId
            self.service = service
            self.waiting = waiting
            self.oldest = oldest
            self.circuit = circuit
        }
    }

    /// The circuit breaker of one provider; push sends nothing while it is open.
    package struct Circuit: Codable, Hashable, Sendable {
        package var isOpen: Bool
        /// The provider's last error.
        package var reason: String?
        package var failures: Int
        package var openedAt: Date?
        /// The time of the next probe.
        package var retryAt: Date?

        package init(isOpen: Bool, reason: String?, failures: Int, openedAt: Date?, retryAt: Date?) {
            self.isOpen = isOpen
            self.reason = reason
            self.failures = failures
            self.openedAt = openedAt
            self.retryAt = retryAt
        }
    }

    package var queues: [ProviderQueue]
    /// Notifications with undecided recipients, including scheduled notifications.
    package var undecided: Int
    /// Notifications that wait for the end of quiet hours.
    package var held: Int
    package var failures: Int

    package init(queues: [ProviderQueue], undecided: Int, held: Int, failures: Int) {
        self.queues = queues
        self.undecided = undecided
        self.held = held
        self.failures = failures
    }
}

/// A notification that a provider rejected for a device, or that ran out of attempts.
package struct PushFailure: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "failures"

    package var id: Int64
    package var applicationId: String
    package var userId: String
    package var service: String
    package var notificationId: String
    package var kind: NotificationKind
    package var reason: String?
    package var attempts: Int
    package var failedAt: Date

    package init(
        id: Int64,
        applicationId: String,
        userId: String,
        service: String,
        notificationId: String,
        kind: NotificationKind,
        reason: String?,
        attempts: Int,
        failedAt: Date
    ) {
        self.id = id
        self.applicationId = applicationId
        self.userId = userId
        self.service = service
        self.notificationId = notificationId
        self.kind = kind
        self.reason = reason
        self.attempts = attempts
        self.failedAt = failedAt
    }
}

/// The failures that match all given fields, of which at least one is required.
package struct PushFailureSelection: Codable, Hashable, Sendable {
    package var ids: [Int64]?
    package var applicationId: String?
    package var reason: String?
    package var all: Bool?

    package init(ids: [Int64]? = nil, applicationId: String? = nil, reason: String? = nil, all: Bool? = nil) {
        self.ids = ids
        self.applicationId = applicationId
        self.reason = reason
        self.all = all
    }
}

package struct PushFailuresChanged: Codable, Hashable, Sendable {
    package var count: Int

    package init(count: Int) { self.count = count }
}
