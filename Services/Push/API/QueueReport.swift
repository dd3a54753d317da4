package import Foundation
import Wire

/// How push stands, for the operator.
package struct QueueReport: Codable, Hashable, Sendable {
    /// What waits for one push service, of one application.
    package struct ProviderQueue: Codable, Hashable, Sendable {
        package var applicationId: String
        /// `apns-production`, `apns-sandbox`, `fcm`, or the address of a browser's push service.
        package var service: String
        package var waiting: Int
        /// Since when the oldest waits.
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

    /// That nothing is sent to a push service for the time being.
    package struct Circuit: Codable, Hashable, Sendable {
        package var isOpen: Bool
        /// What the push service said last.
        package var reason: String?
        /// How often in a row it failed.
        package var failures: Int
        package var openedAt: Date?
        /// When it is tried again.
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
    /// Notifications of which it is not decided yet for whom they are, those for a later time among them.
    package var undecided: Int
    /// For people whose quiet hours it is.
    package var held: Int
    /// What could not be sent and waits for the operator's word.
    package var failures: Int

    package init(queues: [ProviderQueue], undecided: Int, held: Int, failures: Int) {
        self.queues = queues
        self.undecided = undecided
        self.held = held
        self.failures = failures
    }
}

/// A notification for a device that its push service will not take as it is.
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

/// Which failures are meant: those that fit all that is said, at least one thing.
package struct PushFailureSelection: Codable, Hashable, Sendable {
    package var ids: [Int64]?
    package var applicationId: String?
    package var reason: String?
    /// Every one.
    package var all: Bool?

    package init(ids: [Int64]? = nil, applicationId: String? = nil, reason: String? = nil, all: Bool? = nil) {
        self.ids = ids
        self.applicationId = applicationId
        self.reason = reason
        self.all = all
    }
}

/// How many there were of what was asked to be done.
package struct PushFailuresChanged: Codable, Hashable, Sendable {
    package var count: Int

    package init(count: Int) { self.count = count }
}
