import Foundation
import NIOCore
import NIOHTTP1
import Wire

/// `/fcm/…`: the HTTP v1 API of Firebase Cloud Messaging, and Google's token endpoint.
struct FCM: Sendable {
    let tokens: AccessTokens
    let script: Script
    let received: ReceivedNotifications

    private struct SendResponse: Encodable {
        let name: String
    }

    func reply(to request: WebRequest, at path: [String]) throws -> ResponseAction {
        if path == ["token"] { return try tokens.reply(to: request) }
        guard path.count == 4, path[0] == "v1", path[1] == "projects", path[3] == "messages:send" else {
            return .response(FCMError.noProject.response)
        }
        do throws(FCMError) {
            return try send(request, project: path[2])
        } catch {
            received.reject(.fcm, status: error.httpStatus, reason: error.reason)
            return .response(error.response)
        }
    }

    private func send(_ request: WebRequest, project: String) throws(FCMError) -> ResponseAction {
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
            return .response(response(sent))
        }
        if rule.accepts ?? rule.isLenient { accept(message, as: sent) }
        guard !rule.isLenient else { return rule.reply { response(sent) } }
        return rule.reply {
            let error = FCMError(rule)
            received.reject(.fcm, status: error.httpStatus, reason: error.reason)
            return error.response
        }
    }

    private func response(_ name: String) -> WebResponse {
        // Encoding a string cannot fail.
        (try? .json(SendResponse(name: name))) ?? WebResponse(.ok)
    }

    private func accept(_ message: FCMMessage, as name: String) {
        guard !message.isOnlyValidated else { return }
        // Parsed JSON can always be written again.
        let payload = (try? message.content.compact()) ?? Data()
        received.accept(
            IncomingNotification(
                service: .fcm,
                device: message.target,
                id: message.id ?? name,
                fields: fields(of: message.content),
                payload: Array(payload)
            )
        )
    }

    private func fields(of message: JSONValue) -> [(name: String, value: String)] {
        ["collapse_key", "priority", "ttl"].compactMap { name in
            message["android"]?[name]?.text.map { ("android.\(name)", $0) }
        }
    }
}
