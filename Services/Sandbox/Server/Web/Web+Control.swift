import Foundation
import NIOCore
import NIOHTTP1
import Wire

/// `/sandbox/…`: routes that control the sandbox itself.
extension Web {
    private struct RuleList: Encodable {
        let rules: [ScriptRule]
    }

    private struct PinnedDevice: Codable {
        var token: String
        var environment: AppleEnvironment?
        var topic: String?
    }

    private struct SubscriptionDraft: Decodable {
        var applicationServerKey: String?
        var origin: String?
    }

    func control(_ request: WebRequest, at path: [String]) throws -> ResponseAction {
        switch (path.first ?? "", path.count) {
        case ("notifications", 1): return try notifications(request)
        case ("stream", 1):
            try request.require(.GET)
            // A browser sends the last event id when it reconnects.
            let lastEventID = request.headers.first(name: "last-event-id").flatMap { Int($0) }
            let after = try lastEventID ?? request.number("after", default: received.last, in: 0...Int.max)
            // Numbers restart with the sandbox. A client with a higher number has not seen any of the current
            // notifications.
            return .stream(after: after > received.last ? 0 : after)
        case ("counts", 1):
            try request.require(.GET)
            return .response(try .json(received.counts))
        case ("credentials", 1):
            try request.require(.GET)
            return .response(try .json(credentials(request.query["account"], at: request.origin)))
        case ("script", 1): return .response(try script(request))
        case ("networks", _), ("identities", _), ("clock", 1), ("broadcasts", _), ("media", 2):
            return try networks.control(request, at: path)
        case ("mails", 1): return try mails(request)
        case ("devices", 1): return .response(try devices(request))
        case ("subscriptions", 1):
            try request.require(.POST)
            let draft = request.body.readableBytes > 0 ? try request.decode(SubscriptionDraft.self) : nil
            let subscription = try webPush.subscriptions.make(
                at: draft?.origin ?? request.origin,
                for: draft?.applicationServerKey
            )
            return .response(try .json(subscription, status: .created))
        case ("subscriptions", 2):
            try request.require(.DELETE)
            try webPush.subscriptions.end(path[1])
            return .response(WebResponse(.noContent))
        default: throw APIError(.notFound, "no_route", "there is no route \(request.path)")
        }
    }

    /// Returns the credentials for a push server, with the addresses as the client of this request reaches the sandbox.
    func credentials(_ account: String?, at origin: String) throws -> SandboxCredentials {
        let host = URLComponents(string: origin)?.host ?? "127.0.0.1"
        let ports = ports()
        let addresses = SandboxAddresses(
            base: origin,
            apns: "https://\(host):\(ports.production)",
            apnsSandbox: "https://\(host):\(ports.sandbox)",
            smtp: "\(host):\(ports.smtp)"
        )
        let account = try accounts.account(account ?? DeveloperAccount.standard)
        return SandboxCredentials(account, at: addresses, authority: authorityPEM)
    }

    private func notifications(_ request: WebRequest) throws -> ResponseAction {
        if request.method == .DELETE {
            received.clear()
            return .response(WebResponse(.noContent))
        }
        try request.require(.GET)
        let after = try request.number("after", default: 0, in: 0...Int.max)
        let limit = try request.number("limit", default: 100, in: 1...1_000)
        let wait = try request.number("wait", default: 0, in: 0...60)
        return .notifications(after: after, limit: limit, wait: .seconds(Int64(wait)))
    }

    private func script(_ request: WebRequest) throws -> WebResponse {
        switch request.method {
        case .GET: return try .json(RuleList(rules: script.rules))
        case .DELETE:
            script.clear()
            return WebResponse(.noContent)
        default:
            try request.require(.POST)
            let rule = try request.decode(ScriptRule.self)
            try script.add(rule)
            return try .json(rule, status: .created)
        }
    }

    private func devices(_ request: WebRequest) throws -> WebResponse {
        if request.method == .DELETE {
            devices.clear()
            return WebResponse(.noContent)
        }
        try request.require(.POST)
        let pinned = try request.decode(PinnedDevice.self)
        try devices.pin(pinned.token, environment: pinned.environment, topic: pinned.topic)
        return try .json(pinned, status: .created)
    }
}
