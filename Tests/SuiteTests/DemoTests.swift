import ChildProcesses
import Foundation
import HTTPTypes
import ServiceClient
import TestSupport
import Testing
import Wire

/// The demo account that `roost up` creates with the sandbox, which is linked to all networks.
extension SuiteTests {
    @Suite("Demo account") struct DemoTests {
        @Test("The demo account has a feed of all networks, and receives each webhook's message once")
        func events() async throws {
            // Long enough for every network to respond on a slow machine.
            try await FakePhones.with(settings: ["SOCIAL_DEADLINE_MS": "15000"]) { suite, phones in
                let demo = try await suite.demo()
                let sandbox = suite.client(port: phones.port, jwt: nil)

                let networks = try await demo.get("/networks", as: JSONValue.self)["networks"].array
                #expect(networks.count == 9, "\(networks)")
                #expect(networks.allSatisfy { $0["state"].string == "linked" }, "\(networks)")
                let feed = try await demo.get("/feed", query: [("limit", "100")], as: JSONValue.self)
                let reports = networks.map { feed["meta"]["networks"][$0["network"].string ?? ""]["code"].int }
                #expect(reports == Array(repeating: 200, count: 9), "\(feed["meta"])")
                #expect(feed["response"]["items"].array.count == 100)

                // Each webhook is called three times and in reverse order, but the client receives each message once.
                for network in Self.webhookNetworks {
                    let plan = #"{"times": 3, "held": true, "reversed": true}"#
                    try await sandbox.control("/sandbox/networks/\(network)/webhooks", plan)
                }
                let token = try await suite.demoToken()
                let (port, limit) = (suite.gatewayPort, Duration.seconds(300))
                try await EventStreamClient.with(port: port, "/stream", token: token, limit: limit) { stream in
                    _ = await stream.event()
                    for network in Self.webhookNetworks {
                        for text in ["first", "second"] {
                            let message = #"{"from": "eli", "to": "ana", "text": "\#(text) on \#(network)"}"#
                            try await sandbox.control("/sandbox/networks/\(network)/messages", message)
                        }
                        try await sandbox.control("/sandbox/networks/\(network)/webhooks", #"{"held": false}"#)
                    }
                    var received: [String] = []
                    while received.count < 2 * Self.webhookNetworks.count, let event = await stream.event() {
                        if event.name == "created" { received.append(event.json["item"]["text"].string ?? "") }
                    }
                    #expect(
                        received.sorted()
                            == Self.webhookNetworks.flatMap { ["first on \($0)", "second on \($0)"] }.sorted()
                    )
                    for network in Self.webhookNetworks {
                        try await eventually(within: .seconds(60), "all webhooks of \(network) called") {
                            let path = "/sandbox/networks/\(network)/webhooks"
                            return try await sandbox.get(path, as: JSONValue.self)["waiting"].int == 0
                        }
                    }
                    // The next message is the first event after them, so none was repeated.
                    try await sandbox.control(
                        "/sandbox/networks/facebook/webhooks",
                        #"{"times": 1, "reversed": false}"#
                    )
                    try await sandbox.control(
                        "/sandbox/networks/facebook/messages",
                        #"{"from": "eli", "to": "ana", "text": "the end"}"#
                    )
                    var last = await stream.event()
                    while let event = last, event.name != "created" { last = await stream.event() }
                    #expect(last?.json["item"]["text"].string == "the end")
                }
            }
        }

        @Test("roost demo fails if the account has another password")
        func wrongPassword() async throws {
            try await FakePhones.with { suite, _ in
                _ = try await suite.demo()
                var other = suite.roost("demo")
                other.environment["DEMO_PASSWORD"] = "not what it was made with"

                let refused = try await other.run(within: .seconds(60))

                #expect(!refused.status.isSuccess)
                #expect(refused.output.contains("has another password"), "\(refused.output)")
                _ = try await suite.demo()
            }
        }

        /// The networks with webhooks.
        private static let webhookNetworks = ["facebook", "instagram", "twitter"]
    }
}

extension RunningSuite {
    /// Returns a client of the demo account.
    func demo() async throws -> ServiceClient { gateway(jwt: try await demoToken()) }

    func demoToken() async throws -> String {
        var output = ""
        // Right after the start the account may not exist yet.
        try await eventually(within: .seconds(60), "a demo account") {
            let ended = try await roost("demo").run(within: .seconds(60))
            output = ended.output
            return ended.status.isSuccess
        }
        return output.split(separator: "\n").last.map(String.init) ?? ""
    }
}

extension ServiceClient {
    /// Posts JSON and ignores the response.
    fileprivate func control(_ path: String, _ json: String) async throws {
        _ = try await send(.post, path, body: Data(json.utf8), timeout: .seconds(10))
    }
}
