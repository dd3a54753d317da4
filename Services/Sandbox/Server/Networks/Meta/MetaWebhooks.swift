import Foundation
import Locks
import NIOCore
import NIOHTTP1
import Wire

/// The webhook subscriptions of Meta.
///
/// An app has one address per object, which must echo a challenge. It receives events of the Pages and accounts that
/// have subscribed the app.
final class MetaWebhooks: Sendable {
    private struct State {
        /// The address and the fields of each object.
        var hooks: [String: (url: String, fields: Set<String>)] = [:]
        /// The fields that each Page or account sends to the app.
        var subscribed: [String: Set<String>] = [:]
    }

    let deliveries: WebhookSender
    private let calls: OutgoingRequests
    private let secret: String
    private let state = Lock(State())

    init(_ calls: OutgoingRequests, secret: String) {
        self.calls = calls
        self.secret = secret
        deliveries = WebhookSender(calls)
    }

    /// Handles `POST /{app}/subscriptions`.
    func subscribe(_ request: NetworkRequest) -> ResponseAction {
        guard let object = request["object"], let url = request["callback_url"], let token = request["verify_token"]
        else { return .response(Meta.error(100, "(#100) The parameter callback_url is required").response) }
        let fields = Self.fields(request["fields"])
        return .later { [self] in
            let challenge = String(Int.random(in: 100_000_000...999_999_999))
            let question = ConsentPage.url(
                url,
                [("hub.mode", "subscribe"), ("hub.challenge", challenge), ("hub.verify_token", token)]
            )
            guard let response = await calls.get(question), response.status == 200, response.body == challenge else {
                let text = "(#2200) Callback verification failed with the following errors: HTTP Status Code"
                return Meta.error(2_200, text).response
            }
            state.withLock { $0.hooks[object] = (url, fields) }
            return .jsonValue(["success": true])
        }
    }

    /// Handles `/{page}/subscribed_apps`, which sets the fields that a Page or account sends to the app.
    func apps(_ request: NetworkRequest, of id: String, app: String) throws -> WebResponse {
        switch request.method {
        case .POST:
            guard let fields = request["subscribed_fields"] else {
                throw Meta.error(100, "(#100) The parameter subscribed_fields is required.")
            }
            state.withLock { $0.subscribed[id] = Self.fields(fields) }
        case .DELETE: state.withLock { $0.subscribed[id] = nil }
        default:
            let fields = state.withLock { $0.subscribed[id] }
            let app = fields.map { fields -> JSONValue in
                ["id": .string(app), "subscribed_fields": .list(fields.sorted().map(JSONValue.string))]
            }
            return .jsonValue(["data": .list(app.map { [$0] } ?? [])])
        }
        return .jsonValue(["success": true])
    }

    /// Sends a change of a Page's or account's field.
    ///
    /// The signature covers the body's bytes.
    func send(_ object: String, _ field: String, of id: String, _ entry: [String: JSONValue]) {
        let url = state.withLock { state -> String? in
            guard let hook = state.hooks[object], hook.fields.contains(field),
                state.subscribed[id]?.contains(field) == true
            else { return nil }
            return hook.url
        }
        guard let url else { return }
        let entry = JSONValue.object(entry.merging(["id": .string(id)]) { $1 })
        let bytes = Data(JSONValue.object(["object": .string(object), "entry": [entry]]).line.utf8)
        let signature = "sha256=\(Meta.hex(bytes, secret))"
        deliveries.send(
            WebhookSender.Delivery(
                url: url,
                headers: ["content-type": "application/json", "x-hub-signature-256": signature],
                body: ByteBuffer(bytes: bytes)
            )
        )
    }

    private static func fields(_ text: String?) -> Set<String> {
        Set((text ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
    }
}
