import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import Wire

/// `/webpush/{subscription}`: a push service as RFC 8030 has it, and the browser that decrypts what comes.
struct WebPush: Sendable {
    let subscriptions: Subscriptions
    let vapid: Vapid
    let script: Script
    let seen: SeenNotifications

    private static let bodyLimit = 4_096
    private static let topicLimit = 32
    private static let longestTTL = 2_419_200
    private static let urgencies: Set<String> = ["very-low", "low", "normal", "high"]

    private struct Refusal: Error {
        let status: Int
        let reason: String
        let text: String

        init(_ status: Int, _ reason: String, _ text: String) {
            self.status = status
            self.reason = reason
            self.text = text
        }

        init(_ refusal: Vapid.Refusal) {
            self.init(refusal.status, refusal.reason, refusal.text)
        }
    }

    private struct Problem: Encodable {
        let code: Int
        let error: String
        let message: String
    }

    func reply(to request: WebRequest, subscription id: String) throws -> WebReply {
        do throws(Refusal) {
            return try push(request, to: id)
        } catch {
            seen.refuse(.webPush, status: error.status, reason: error.reason)
            return .answer(try answer(error))
        }
    }

    private func push(_ request: WebRequest, to id: String) throws(Refusal) -> WebReply {
        guard request.method == .POST else { throw Refusal(405, "MethodNotAllowed", "a message is sent by POST") }
        // Silence: one whose keys cannot be derived is as unknown as one that was never made.
        guard let browser = try? subscriptions.browser(of: id) else {
            throw Refusal(404, "NoSubscription", "no such subscription")
        }
        guard !subscriptions.hasEnded(id) else { throw Refusal(410, "Gone", "the subscription has ended") }
        try checkSender(request, of: browser)
        let fields = try checkFields(request.headers)
        let plain = try content(request, for: browser)
        let message = Base64URL.random(bytes: 12)
        let location = "\(request.origin)/webpush/m/\(message)"
        let arrival = NotificationArrival(
            service: .webPush,
            device: id,
            id: Self.id(in: plain) ?? message,
            fields: fields,
            payload: plain
        )
        let created = WebAnswer(.created, headers: ["location": location, "ttl": request.headers["ttl"].first ?? "0"])
        guard let rule = script.follow(.webPush, token: id) else {
            seen.accept(arrival)
            return .answer(created)
        }
        if rule.accepts ?? rule.isLenient { seen.accept(arrival) }
        guard !rule.isLenient else { return rule.reply { created } }
        return rule.reply {
            let status = rule.status ?? 400
            let refusal = Refusal(status, rule.reason ?? "Scripted", rule.reason ?? "scripted")
            seen.refuse(.webPush, status: status, reason: refusal.reason)
            // Two strings and a number cannot fail to encode.
            return (try? answer(refusal)) ?? WebAnswer(HTTPResponseStatus(statusCode: status))
        }
    }

    // MARK: The rules

    private func checkSender(_ request: WebRequest, of browser: Subscriptions.Browser) throws(Refusal) {
        let key: Data
        do throws(Vapid.Refusal) {
            key = try vapid.judge(request.headers.first(name: "authorization"), origin: request.origin)
        } catch {
            throw Refusal(error)
        }
        guard let hash = browser.serverKeyHash else { return }
        guard Data(SHA256.hash(data: key)).prefix(8) == hash else {
            throw Refusal(403, "VapidKeyMismatch", "the subscription was made for another applicationServerKey")
        }
    }

    private func checkFields(_ headers: HTTPHeaders) throws(Refusal) -> [(name: String, value: String)] {
        guard let text = headers.first(name: "ttl"), let ttl = Int(text), ttl >= 0 else {
            throw Refusal(400, "MissingTTL", "a TTL field of seconds is needed")
        }
        guard ttl <= Self.longestTTL else { throw Refusal(400, "TTLTooLong", "TTL may be four weeks at most") }
        let urgency = headers.first(name: "urgency")
        if let urgency, !Self.urgencies.contains(urgency) {
            throw Refusal(400, "BadUrgency", "Urgency is very-low, low, normal or high")
        }
        let topic = headers.first(name: "topic")
        if let topic, !(1...Self.topicLimit ~= topic.utf8.count) || !topic.utf8.allSatisfy(Base64URL.isDigit) {
            throw Refusal(400, "BadTopic", "a Topic has at most 32 characters of base64url")
        }
        return [("ttl", text), ("urgency", urgency), ("topic", topic)].compactMap { name, value in
            value.map { (name, $0) }
        }
    }

    private func content(_ request: WebRequest, for browser: Subscriptions.Browser) throws(Refusal) -> [UInt8] {
        let body = Data(request.body.readableBytesView)
        // A push without a body wakes a page, and says nothing.
        guard !body.isEmpty else { return [] }
        guard body.count <= Self.bodyLimit else {
            throw Refusal(413, "PayloadTooLarge", "a body has at most 4096 bytes")
        }
        guard request.headers.first(name: "content-encoding") == "aes128gcm" else {
            throw Refusal(400, "BadEncoding", "Content-Encoding must be aes128gcm")
        }
        do throws(PushRecord.Flaw) {
            return try PushRecord(body).decrypted(by: browser)
        } catch {
            throw Refusal(400, "CannotDecrypt", error.text)
        }
    }

    private func answer(_ refusal: Refusal) throws -> WebAnswer {
        let problem = Problem(code: refusal.status, error: refusal.reason, message: refusal.text)
        return try .json(problem, status: HTTPResponseStatus(statusCode: refusal.status))
    }

    /// By which the same message is known when it comes again, where its sender says one.
    private static func id(in plain: [UInt8]) -> String? {
        // Silence: a push may be any bytes.
        guard let content = try? JSONText.parse(plain) else { return nil }
        return content["id"]?.text ?? content["data"]?["id"]?.text
    }
}
