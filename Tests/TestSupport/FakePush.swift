import Foundation
import HTTPTypes
package import PushAPI
package import ServiceClient
import Synchronization
package import Wire

/// A fake push service for its callers, which accepts each notification once or rejects it.
package final class FakePush: Sendable {
    private struct State {
        var taken: [NotificationRequest] = []
        var seen: Set<String> = []
        var calls: [[NotificationRequest]] = []
        var isUnavailable = false
        var isHanging = false
        var refusal: @Sendable (NotificationRequest) -> APIError? = { _ in nil }
        /// The number of calls that are processed but whose response is lost.
        var droppedResponses = 0
    }

    private struct Body: Decodable {
        var notifications: [NotificationRequest]
    }

    private let state = Mutex(State())

    package init() {}

    /// The accepted notifications in the order of arrival, without duplicates.
    package var taken: [NotificationRequest] { state.withLock(\.taken) }
    package var calls: [[NotificationRequest]] { state.withLock(\.calls) }
    /// The text of each body, or the key and the arguments of a body from the message catalogs.
    package var bodies: [String] { taken.compactMap { $0.body ?? $0.bodyMessage?.summary } }

    package func setUnavailable(_ isUnavailable: Bool) { state.withLock { $0.isUnavailable = isUnavailable } }
    package func setHanging(_ isHanging: Bool) { state.withLock { $0.isHanging = isHanging } }
    package func refuse(_ refusal: @escaping @Sendable (NotificationRequest) -> APIError?) {
        state.withLock { $0.refusal = refusal }
    }
    package func dropResponses(_ count: Int) { state.withLock { $0.droppedResponses = count } }

    package func waitForNotifications(_ count: Int) async throws {
        try await eventually { taken.count >= count }
    }

    package var client: ServiceClient {
        ServiceClient(callee: "push", transport: PushTransport(push: self), retry: .never)
    }

    fileprivate func process(_ request: ServiceRequest) async throws -> ServiceResponse {
        let body = try WireJSON.decode(Body.self, from: request.body ?? Data())
        state.withLock { $0.calls.append(body.notifications) }
        while state.withLock(\.isHanging) { try await Task.sleep(for: .milliseconds(2)) }
        let (isUnavailable, refusal) = state.withLock { ($0.isUnavailable, $0.refusal) }
        guard !isUnavailable else { throw TransportFailure.notSent }
        // Like push, it accepts all notifications of a call or none.
        if let error = body.notifications.lazy.compactMap(refusal).first {
            return ServiceResponse(status: error.kind.status, body: Problem(error, requestID: nil).encoded())
        }
        let (fresh, isDropped) = state.withLock { state -> (Int, Bool) in
            let fresh = body.notifications.filter { state.seen.insert("\($0.applicationId) \($0.id)").inserted }
            state.taken += fresh
            guard state.droppedResponses > 0 else { return (fresh.count, false) }
            state.droppedResponses -= 1
            return (fresh.count, true)
        }
        guard !isDropped else { throw TransportFailure.unanswered }
        let response = NotificationsAccepted(taken: fresh, known: body.notifications.count - fresh)
        return ServiceResponse(status: 202, body: try WireJSON.encoder().encode(response))
    }
}

extension NotificationText {
    /// The key and the arguments in the order of their names, such as `like.others count=4 name=fay`.
    package var summary: String {
        let values = arguments.sorted { $0.key < $1.key }.map { name, argument in
            switch argument {
            case .text(let text): "\(name)=\(text)"
            case .number(let number): "\(name)=\(number)"
            case .message(let key): "\(name)=<\(key)>"
            }
        }
        return ([key] + values).joined(separator: " ")
    }
}

private struct PushTransport: Transport {
    let push: FakePush

    func send(_ request: ServiceRequest) async throws -> ServiceResponse {
        guard request.method == .post, request.path == "/internal/notifications" else {
            return ServiceResponse(status: 404)
        }
        return try await push.process(request)
    }
}
