import ConversationsAPI
import Hummingbird
import ServiceHost
import Wire

/// Accepts a new message in each format: text, or a file in one of three ways.
struct MessageSendHandler {
    let files: Files

    func send(_ request: Request, context: UserContext) async throws -> Message {
        let token = try context.conversation()
        let reader = UploadReader(request: request, limit: files.limit)
        try reader.checkLength()
        switch try MessageBody(request) {
        case .json: return try await send(text: request, to: token, context)
        case .form(let boundary):
            return try await files.send(to: token, by: context.user) {
                try await reader.form(boundary: boundary, into: $0)
            }
        case .file:
            let fields = try reader.queryFields()
            return try await files.send(to: token, by: context.user) {
                try await reader.file(into: $0, fields: fields)
            }
        }
    }

    /// Sends a text, or a file in base64, whose body may exceed the limit of other JSON bodies.
    private func send(
        text request: Request,
        to token: ConversationToken,
        _ context: UserContext
    ) async throws -> Message {
        let length = request.headers[.contentLength].flatMap { Int($0) } ?? 0
        guard length > JSONLimits.largeWithMeta.bytes else {
            let draft = try await request.decode(as: MessageDraft.self, limits: .largeWithMeta, context: context)
            return try await files.send(draft, to: token, by: context.user)
        }
        return try await files.withTextSlot(length, of: context.user) {
            let draft = try await request.decode(as: MessageDraft.self, limits: .withFile, context: context)
            return try await files.send(draft, to: token, by: context.user)
        }
    }
}
