import Foundation
import NIOCore
import NIOHTTP1
import Wire

/// `/fcm/…`: Google's Firebase Cloud Messaging as its HTTP v1 API is, and the endpoint that gives access to it.
struct FCM: Sendable {
    let tokens: AccessTokens
    let script: Script
    let seen: SeenNotifications

    private struct Sent: Encodable {
        let name: String
    }

    func reply(to request: WebRequest, at path: [String]) throws -> WebReply {
        if path == ["token"] { return try tokens.reply(to: request) }
        guard path.count == 4, path[0] == "v1", path[1] == "projects", path[3] == "messages:send" else {
            return .answer(FCMError.noProject.answer)
        }
        do throws(FCMError) {
            return try send(request, project: path[2])
        } catch {
            seen.refuse(.fcm, status: error.httpStatus, reason: error.reason)
            return .answer(error.answer)
        }
    }

    private func send(_ request: WebRequest, project: String) throws(FCMError) -> WebReply {
        guard request.method == .POST else { throw .noProject }
        let authorization = request.headers.first(name: "authorization") ?? ""
        guard authorization.prefix(7).lowercased() == "bearer ",
            let name = tokens.account(of: authorization.dropFirst(7))
        else { throw .unauthenticated }
        guard project.hasSuffix("-sandbox") else { throw .noProject }
        guard project == "\(name)-sandbox" else { throw .permissionDenied }
        let message = try FCMMessage(request.body.readableBytesView)
        let sent = "projects/\(project)/messages/\(UUID().uuidString.lowercased())"
        guard let rule = script.follow(.fcm, token: message.target) else {
            accept(message, as: sent)
            return .answer(answer(sent))
        }
        if rule.accepts ?? rule.isLenient { accept(message, as: sent) }
        guard !rule.isLenient else { return rule.reply { answer(sent) } }
        return rule.reply {
            let error = FCMError(rule)
            seen.refuse(.fcm, status: error.httpStatus, reason: error.reason)
            return error.answer
        }
    }

    private func answer(_ name: String) -> WebAnswer {
        // A string cannot fail to encode.
        (try? .json(Sent(name: name))) ?? WebAnswer(.ok)
    }

    private func accept(_ message: FCMMessage, as name: String) {
        guard !message.isOnlyValidated else { return }
        // What was read as JSON can be written as JSON.
        let payload = (try? message.content.compact()) ?? Data()
        seen.accept(
            NotificationArrival(
                service: .fcm,
                device: message.target,
                id: message.id ?? name,
                fields: fields(of: message.content),
                payload: Array(payload)
            )
        )
    }

    /// What says how to deliver it, under the names that it has in the message.
    private func fields(of message: JSONValue) -> [(name: String, value: String)] {
        ["collapse_key", "priority", "ttl"].compactMap { name in
            message["android"]?[name]?.text.map { ("android.\(name)", $0) }
        }
    }
}
