import AuthAPI
import ChildProcesses
import Foundation
import Glibc
import PushAPI
import ServiceClient
import TestSupport
import Testing
import Wire

/// Devices across auth, push and the gateway.
extension SuiteTests {
    @Suite("Devices across services") struct DeviceTests {
        @Test("A sign-out removes the session's device, also if push is suspended meanwhile")
        func signOut() async throws {
            try await RunningSuite.with { suite in
                let ana = try await suite.person("ana")
                let again = try await suite.signInAgain("ana")
                let tablet = DeviceDraft(platform: "gcm", token: "tablet's", deviceId: "tablet")
                let kept = try await again.preferences.register(tablet)
                let phone = String(repeating: "ab", count: 32)
                try await ana.preferences.register(DeviceDraft(platform: "ios_production", token: phone))
                #expect(try await again.preferences.devices().count == 2)

                // Push is suspended during the sign-out, and receives the event afterwards.
                try suite.process("push").signal(SIGSTOP)
                let _: Done = try await ana.service.post("/auth/logout", [String: String]())
                try suite.process("push").signal(SIGCONT)

                try await eventually(within: .seconds(60), "removed with its session") {
                    // Silence: after a long suspension the gateway has to find out first that push responds.
                    (try? await again.preferences.devices()) == [kept]
                }
            }
        }

        @Test("A browser subscribes with the VAPID key and registers as a device")
        func browser() async throws {
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

                // HTTP is allowed because the endpoint is on the loopback address.
                #expect(browser.endpoint.hasPrefix("http://127.0.0.1:\(ports[0])/"))
                let device = try await ana.preferences.register(DeviceDraft(platform: "web", subscription: browser))
                #expect(try await ana.preferences.devices() == [device])
            }
        }

        @Test("authenticate shows the device of the login as registered, however early it comes")
        func registeredAtOnce() async throws {
            try await RunningSuite.with { suite in
                let admin = try await ApplicationTests.administrator(of: suite)
                let acme = try await ApplicationTests.application("Acme", by: admin)
                try await AccountServer.with(acme, of: suite) { accounts in
                    for number in 0..<5 {
                        let token = "token \(number)"
                        let ada = try await accounts.signIn("ada", device: "phone \(number)", pushToken: token)
                        let socket = try await SocketClient(port: suite.gatewayPort)
                        let response = try await socket.ask("authenticate", #"{"authToken":"\#(ada.session)"}"#)
                        #expect(response["code"].int == 200, "\(response)")
                        #expect(response["serial"].string == "phone \(number)")
                        #expect(response["platform"].string == "gcm")
                        #expect(response["status"].string == "registered")
                        #expect(response["pushToken"].string == "token\(number)")
                    }
                }
            }
        }

        @Test("A push token at sign-in registers the device, and moves it to the latest user")
        func pushToken() async throws {
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
                    // Another user signs in on the same phone.
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
