import AuthAPI
import ChildProcesses
import Foundation
import Glibc
import PushAPI
import ServiceClient
import TestSupport
import Testing
import Wire

/// Where people are notified, as auth, push and the gateway have it together.
extension SuiteTests {
    @Suite struct DeviceTests {
        @Test func deviceFollowsSession() async throws {
            try await RunningSuite.with { suite in
                let ana = try await suite.person("ana")
                let again = try await suite.signInAgain("ana")
                let tablet = DeviceDraft(platform: "gcm", token: "tablet's", deviceId: "tablet")
                let kept = try await again.preferences.register(tablet)
                let phone = String(repeating: "ab", count: 32)
                try await ana.preferences.register(DeviceDraft(platform: "ios_production", token: phone))
                #expect(try await again.preferences.devices().count == 2)

                // Push is away meanwhile, and hears of it when it is back.
                try suite.process("push").signal(SIGSTOP)
                let _: Done = try await ana.service.post("/auth/logout", [String: String]())
                try suite.process("push").signal(SIGCONT)

                try await eventually(within: .seconds(60), "gone with its session") {
                    // Silence: where it was away for long, the gateway has to find out first that push is back.
                    (try? await again.preferences.devices()) == [kept]
                }
            }
        }

        @Test func registersBrowser() async throws {
            let ports = try LoopbackPort.free(4).map(\.number)
            let settings = [
                "SANDBOX": "1", "SANDBOX_URL": "http://127.0.0.1:\(ports[0])", "SANDBOX_APNS_PORT": "\(ports[1])",
                "SANDBOX_APNS_SANDBOX_PORT": "\(ports[2])", "SANDBOX_SMTP_PORT": "\(ports[3])",
            ]
            try await RunningSuite.with(settings: settings) { suite in
                let ana = try await suite.person("ana")
                let key = try await ana.preferences.applicationServerKey().publicKey
                let sandbox = suite.client(port: ports[0], jwt: nil)
                let browser: WebSubscription = try await sandbox.post(
                    "/sandbox/subscriptions",
                    ["applicationServerKey": key]
                )

                // In the clear, on this machine: nobody else's browser could be there.
                #expect(browser.endpoint.hasPrefix("http://127.0.0.1:\(ports[0])/"))
                let device = try await ana.preferences.register(DeviceDraft(platform: "web", subscription: browser))
                #expect(try await ana.preferences.devices() == [device])
            }
        }

        @Test("The device given at login is registered in the answer of authenticate, however soon that comes")
        func registeredAtOnce() async throws {
            try await RunningSuite.with { suite in
                let admin = try await ApplicationTests.administrator(of: suite)
                let acme = try await ApplicationTests.application("Acme", by: admin)
                try await AccountServer.with(acme, of: suite) { accounts in
                    for number in 0..<5 {
                        let token = "token \(number)"
                        let ada = try await accounts.signIn("ada", device: "phone \(number)", pushToken: token)
                        let socket = try await SocketClient(port: suite.gatewayPort)
                        let answer = try await socket.ask("authenticate", #"{"authToken":"\#(ada.session)"}"#)
                        #expect(answer["code"].int == 200, "\(answer)")
                        #expect(answer["serial"].string == "phone \(number)")
                        #expect(answer["platform"].string == "gcm")
                        #expect(answer["status"].string == "registered")
                        #expect(answer["pushToken"].string == "token\(number)")
                    }
                }
            }
        }

        @Test("The devices in the answer of authenticate follow the registrations in push")
        func ownersDevices() async throws {
            try await RunningSuite.with { suite in
                let admin = try await ApplicationTests.administrator(of: suite)
                let acme = try await ApplicationTests.application("Acme", by: admin)
                try await AccountServer.with(acme, of: suite) { accounts in
                    let first = try await accounts.signIn("ada", device: "a1", pushToken: "one")
                    _ = try await accounts.signIn("ada", device: "a2", pushToken: "two")
                    let third = try await accounts.signIn("ada", device: "a3")
                    func waitForDevices(_ expected: Set<String>) async throws {
                        try await eventually(within: .seconds(60), "the devices \(expected)") {
                            let socket = try await SocketClient(port: suite.gatewayPort)
                            let answer = try await socket.ask("authenticate", #"{"authToken":"\#(third.session)"}"#)
                            let devices = answer["owner"]["devices"].array.map { device in
                                [device["serial"].string, device["status"].string, device["pushToken"].string]
                                    .compactMap(\.self).joined(separator: " ")
                            }
                            return Set(devices) == expected
                        }
                    }
                    try await waitForDevices(["a1 registered one", "a2 registered two", "a3 unregistered"])

                    try await third.preferences.register(DeviceDraft(platform: "gcm", token: "three"))
                    try await waitForDevices(["a1 registered one", "a2 registered two", "a3 registered three"])

                    let _: Done = try await suite.gateway(jwt: first.session).post("/auth/logout", [String: String]())
                    for device in try await third.preferences.devices() where device.deviceId == "a3" {
                        try await third.preferences.remove(device)
                    }
                    try await waitForDevices(["a1 unregistered", "a2 registered two", "a3 unregistered"])

                    // Another user signs in on the same phone.
                    _ = try await accounts.signIn("bo", device: "a2", pushToken: "two")
                    try await waitForDevices(["a1 unregistered", "a2 unregistered", "a3 unregistered"])
                }
            }
        }

        @Test func pushTokenAtSignIn() async throws {
            try await RunningSuite.with { suite in
                let admin = try await ApplicationTests.administrator(of: suite)
                let acme = try await ApplicationTests.application("Acme", by: admin)
                try await AccountServer.with(acme, of: suite) { accounts in
                    let ada = try await accounts.signIn("ada", pushToken: "ada's token")
                    let bo = try await accounts.signIn("bo", device: "laptop", pushToken: "<bo's token>")
                    for (person, name) in [(ada, "phone"), (bo, "laptop")] {
                        try await eventually(within: .seconds(60), "registered") {
                            try await person.preferences.devices().map(\.deviceId) == [name]
                        }
                    }
                    // Somebody else signs in on the same phone.
                    let cy = try await accounts.signIn("cy", pushToken: "ada's token")
                    try await eventually(within: .seconds(60), "moved") {
                        try await ada.preferences.devices().isEmpty
                    }
                    #expect(try await cy.preferences.devices().first?.current == true)

                    let user = "/applications/\(acme.applicationId)/users/bo"
                    let _: Done = try await admin.delete(user)
                    let key = try await ada.preferences.applicationServerKey().publicKey
                    #expect(Base64URL.decode(key)?.count == 65)
                }
            }
        }
    }
}
