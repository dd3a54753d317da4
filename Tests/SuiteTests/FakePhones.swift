import ChildProcesses
import Foundation
import HTTPTypes
import ServiceClient
import Testing
import Wire

/// The phones of the sandbox, with the notifications that its push services received for them.
final class FakePhones: Sendable {
    /// A notification that a push service received.
    struct ReceivedNotification: Decodable, Sendable {
        var number: Int
        var service: String
        var device: String
        var title: String?
        var body: String?
        var sound: String?
        var badge: Int?
        var headers: [String: String]
        var payload: JSONValue
    }

    /// The totals of all push services.
    struct Counts: Decodable, Sendable {
        var accepted: Int
        /// The number of different notifications.
        var distinct: Int
        var duplicates: Int
    }

    /// The credentials with which an app's server sends notifications.
    struct Credentials: Decodable, Sendable {
        var apns: JSONValue
        var fcm: JSONValue
        var vapid: JSONValue
    }

    private struct Page: Decodable {
        var notifications: [ReceivedNotification]
    }

    /// The port of the sandbox.
    let port: Int
    private let sandbox: ServiceClient

    private init(_ suite: RunningSuite, port: Int) {
        self.port = port
        sandbox = suite.client(port: port, jwt: nil)
    }

    /// Runs a test with a suite that uses the sandbox's push services.
    static func with(
        settings: [String: String] = [:],
        _ body: (RunningSuite, FakePhones) async throws -> Void
    ) async throws {
        let ports = try LoopbackPort.free(4).map(\.number)
        let sandbox = [
            "SANDBOX": "1", "SANDBOX_URL": "http://127.0.0.1:\(ports[0])", "SANDBOX_APNS_PORT": "\(ports[1])",
            "SANDBOX_APNS_SANDBOX_PORT": "\(ports[2])", "SANDBOX_SMTP_PORT": "\(ports[3])",
        ]
        try await RunningSuite.with(settings: sandbox.merging(settings) { $1 }) { suite in
            try await body(suite, FakePhones(suite, port: ports[0]))
        }
    }

    /// Returns the notifications after a number, in order.
    func notifications(after number: Int = 0) async throws -> [ReceivedNotification] {
        var notifications: [ReceivedNotification] = []
        while true {
            let query = [("after", "\(notifications.last?.number ?? number)"), ("limit", "1000")]
            let page: Page = try await sandbox.get("/sandbox/notifications", query: query)
            guard !page.notifications.isEmpty else { return notifications }
            notifications += page.notifications
        }
    }

    /// Waits for `count` notifications, and returns all that were received.
    func waitForNotifications(
        _ count: Int,
        within limit: Duration = .seconds(60)
    ) async throws -> [ReceivedNotification] {
        var notifications: [ReceivedNotification] = []
        try await eventually(within: limit, "\(count) notifications received") {
            notifications += try await self.notifications(after: notifications.last?.number ?? 0)
            return notifications.count >= count
        }
        return notifications
    }

    func counts() async throws -> Counts {
        try await sandbox.get("/sandbox/counts")
    }

    func credentials(of account: String) async throws -> Credentials {
        try await sandbox.get("/sandbox/credentials", query: [("account", account)])
    }
}
