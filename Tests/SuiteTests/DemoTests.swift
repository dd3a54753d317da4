import ChildProcesses
import Foundation
import HTTPTypes
import ServiceClient
import TestSupport
import Testing
import Wire

/// What one finds after `roost up` beside the sandbox: somebody who is on all networks.
extension SuiteTests {
    @Suite struct DemoTests {
        @Test func demoReceivesEvents() async throws {
            // Each network has answered by then, also on a machine that is held up.
            try await FakePhones.with(settings: ["SOCIAL_DEADLINE_MS": "15000"]) { suite, phones in
                let demo = try await suite.demo()
                let sandbox = suite.client(port: phones.port, jwt: nil)

                let networks = try await demo.get("/networks", as: JSONValue.self)["networks"].array
                #expect(networks.count == 9 && networks.allSatisfy { $0["state"].string == "linked" }, "\(networks)")
                let feed = try await demo.get("/feed", query: [("limit", "100")], as: JSONValue.self)
                let reports = networks.map { feed["meta"]["networks"][$0["network"].string ?? ""]["code"].int }
                #expect(reports == Array(repeating: 200, count: 9), "\(feed["meta"])")
                #expect(feed["response"]["items"].array.count == 100)

                // Each is called three times, and the last first: what was said is heard once all the same.
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
                            let said = #"{"from": "eli", "to": "ana", "text": "\#(text) on \#(network)"}"#
                            try await sandbox.control("/sandbox/networks/\(network)/messages", said)
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
                        try await eventually(within: .seconds(60), "all of \(network) told") {
                            let path = "/sandbox/networks/\(network)/webhooks"
                            return try await sandbox.get(path, as: JSONValue.self)["waiting"].int == 0
                        }
                    }
                    // What follows is the first thing that it hears after them.
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

        @Test func existingDemoAccount() async throws {
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

        /// Networks that call.
        private static let webhookNetworks = ["facebook", "instagram", "twitter"]
    }
}

extension RunningSuite {
    /// The account that `roost up` makes beside the sandbox, linked to all networks.
    func demo() async throws -> ServiceClient { gateway(jwt: try await demoToken()) }

    func demoToken() async throws -> String {
        var output = ""
        // Right after the start its password may not be made yet.
        try await eventually(within: .seconds(60), "somebody to try things with") {
            let ended = try await roost("demo").run(within: .seconds(60))
            output = ended.output
            return ended.status.isSuccess
        }
        return output.split(separator: "\n").last.map(String.init) ?? ""
    }
}

extension ServiceClient {
    /// Posts JSON whose answer is of no interest.
    fileprivate func control(_ path: String, _ json: String) async throws {
        _ = try await send(.post, path, body: Data(json.utf8), timeout: .seconds(10))
    }
}
