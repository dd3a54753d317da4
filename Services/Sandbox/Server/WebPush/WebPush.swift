import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import Wire

/// `/webpush/{subscription}`: a push service of RFC 8030, with the browser that decrypts the messages.
struct WebPush: Sendable {
    let subscriptions: Subscriptions
    let vapid: Vapid
    let script: Script
    let received: ReceivedNotifications

    private static let bodyLimit = 4_096
    private static let topicLimit = 32
    private static let longestTTL = 2_419_200
    private static let urgencies: Set<String> = ["very-low", "low", "normal", "high"]

    private struct RequestError: Error {
        let status: Int
        let reason: String
        let text: String

        init(_ status: Int, _ reason: String, _ text: String) {
            self.status = status
            self.reason = reason
            self.text = text
        }

        init(_ requestError: Vapid.RequestError) {
            self.init(requestError.status, requestError.reason, requestError.text)
        }
    }

    private struct Problem: Encodable {
        let code: Int
        let error: String
        let message: String
    }

    func reply(to request: WebRequest, subscription id: String) throws -> ResponseAction {
        do throws(RequestError) {
            return try push(request, to: id)
        } catch {
            received.reject(.webPush, status: error.status, reason: error.reason)
            return .response(try response(error))
        }
    }

    private func push(_ request: WebRequest, to id: String) throws(RequestError) -> ResponseAction {
        guard request.method == .POST else { throw RequestError(405, "MethodNotAllowed", "the method must be POST") }
        // A subscription whose keys cannot be derived counts as unknown.
        guard let browser = try? subscriptions.browser(of: id) else {
            throw RequestError(404, "NoSubscription", "there is no such subscription")
        }
        guard !subscriptions.hasEnded(id) else { throw RequestError(410, "Gone", "the subscription has ended") }
        try checkSender(request, of: browser)
        let fields = try checkFields(request.headers)
        let plain = try content(request, for: browser)
        let message = Base64URL.random(bytes: 12)
        let location = "\(request.origin)/webpush/m/\(message)"
        let arrival = IncomingNotification(
            service: .webPush,
            device: id,
            id: Self.id(in: plain) ?? message,
            fields: fields,
            payload: plain
        )
        let created = WebResponse(
            .created,
            headers: ["location": location, "ttl": request.headers["ttl"].first ?? "0"]
        )
        guard let rule = script.follow(.webPush, token: id) else {
            received.accept(arrival)
            return .response(created)
        }
        if rule.accepts ?? rule.isLenient { received.accept(arrival) }
        guard !rule.isLenient else { return rule.reply { created } }
        return rule.reply {
            let status = rule.status ?? 400
            let requestError = RequestError(status, rule.reason ?? "Scripted", rule.reason ?? "scripted")
            received.reject(.webPush, status: status, reason: requestError.reason)
            // Encoding two strings and a number cannot fail.
            return (try? response(requestError)) ?? WebResponse(HTTPResponseStatus(statusCode: status))
        }
    }

    // MARK: Validation

    private func checkSender(_ request: WebRequest, of browser: Subscriptions.Browser) throws(RequestError) {
        let key: Data
        do throws(Vapid.RequestError) {
            key = try vapid.validate(request.headers.first(name: "authorization"), origin: request.origin)
        } catch {
            throw RequestError(error)
        }
        guard let hash = browser.serverKeyHash else { return }
        guard Data(SHA256.hash(data: key)).prefix(8) == hash else {
            throw RequestError(403, "VapidKeyMismatch", "the subscription requires another applicationServerKey")
        }
    }

    private func checkFields(_ headers: HTTPHeaders) throws(RequestError) -> [(name: String, value: String)] {
        guard let text = headers.first(name: "ttl"), let ttl = Int(text), ttl >= 0 else {
            throw RequestError(400, "MissingTTL", "a TTL field in seconds is required")
        }
        guard ttl <= Self.longestTTL else { throw RequestError(400, "TTLTooLong", "TTL must be at most four weeks") }
        let urgency = headers.first(name: "urgency")
        if let urgency, !Self.urgencies.contains(urgency) {
            throw RequestError(400, "BadUrgency", "Urgency must be very-low, low, normal or high")
        }
        let topic = headers.first(name: "topic")
        if let topic, !(1...Self.topicLimit ~= topic.utf8.count) || !topic.utf8.allSatisfy(Base64URL.isDigit) {
            throw RequestError(400, "BadTopic", "Topic must have at most 32 characters of base64url")
        }
        return [("ttl", text), ("urgency", urgency), ("topic", topic)].compactMap { name, value in
            value.map { (name, $0) }
        }
    }

    private func content(_ request: WebRequest, for browser: Subscriptions.Browser) throws(RequestError) -> [UInt8] {
        let body = Data(request.body.readableBytesView)
        // A push without a body only wakes the service worker.
        guard !body.isEmpty else { return [] }
        guard body.count <= Self.bodyLimit else {
            throw RequestError(413, "PayloadTooLarge", "the body must have at most 4096 bytes")
        }
        guard request.headers.first(name: "content-encoding") == "aes128gcm" else {
            throw RequestError(400, "BadEncoding", "Content-Encoding must be aes128gcm")
        }
        do throws(PushRecord.DecryptionError) {
            return try PushRecord(body).decrypted(by: browser)
        } catch {
            throw RequestError(400, "CannotDecrypt", error.text)
        }
    }

    private func response(_ requestError: RequestError) throws -> WebResponse {
        let problem = Problem(code: requestError.status, error: requestError.reason, message: requestError.text)
        return try .json(problem, status: HTTPResponseStatus(statusCode: requestError.status))
    }

    /// Returns the sender's id of the message, which identifies a repetition; nil when the payload has none.
    private static func id(in plain: [UInt8]) -> String? {
        // A push may be any bytes.
        guard let content = try? JSONParser.parse(plain) else { return nil }
        return content["id"]?.text ?? content["data"]?["id"]?.text
    }
}
