import ChildProcesses
import Foundation
import HTTPTypes
import ServiceClient
import Testing
import Wire

/// The sandbox's telephones: what Apple's and Google's push services would have shown on them.
final class FakePhones: Sendable {
    /// A notification as it came there.
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

    /// What the push services have taken in all.
    struct Counts: Decodable, Sendable {
        var accepted: Int
        /// How many different notifications these are.
        var distinct: Int
        var duplicates: Int
    }

    /// By what an app's server sends through them.
    struct Credentials: Decodable, Sendable {
        var apns: JSONValue
        var fcm: JSONValue
        var vapid: JSONValue
    }

    private struct Page: Decodable {
        var notifications: [ReceivedNotification]
    }

    /// Where the sandbox is.
    let port: Int
    private let sandbox: ServiceClient

    private init(_ suite: RunningSuite, port: Int) {
        self.port = port
        sandbox = suite.client(port: port, jwt: nil)
    }

    /// Runs a test beside a suite whose push services are the sandbox's.
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

    /// What came behind a number, in its order.
    func notifications(after number: Int = 0) async throws -> [ReceivedNotification] {
        var notifications: [ReceivedNotification] = []
        while true {
            let query = [("after", "\(notifications.last?.number ?? number)"), ("limit", "1000")]
            let page: Page = try await sandbox.get("/sandbox/notifications", query: query)
            guard !page.notifications.isEmpty else { return notifications }
            notifications += page.notifications
        }
    }

    /// All that has come, as soon as there is so much.
    func waitForNotifications(
        _ count: Int,
        within limit: Duration = .seconds(60)
    ) async throws -> [ReceivedNotification] {
        var notifications: [ReceivedNotification] = []
        try await eventually(within: limit, "\(count) notifications on telephones") {
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
