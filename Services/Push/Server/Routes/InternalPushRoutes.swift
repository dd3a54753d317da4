import Hummingbird
import PushAPI
import ServiceHost
import Wire

/// Serves `/internal/notifications` for services and `/internal/push` for the operator.
struct InternalPushRoutes {
    let intake: Intake
    let queueAdmin: QueueAdmin

    func add(to routes: SuiteRoutes) {
        let publishers = routes.internalRoutes(from: [.conversations, .photos, .social])
        publishers.post("notifications", use: accept)

        let operatorCommand = routes.internalRoutes(from: [.operatorCommand])
        operatorCommand.get("push/queue", use: showQueue)
        operatorCommand.get("push/failures", use: listFailures)
        operatorCommand.post("push/failures/retry", use: retry)
        operatorCommand.post("push/failures/drop", use: drop)
    }

    func accept(request: Request, context: InternalContext) async throws -> JSONResponse<NotificationsAccepted> {
        let requests = try await request.decode(as: NotificationRequests.self, context: context).notifications
        return JSONResponse(try await intake.accept(requests), status: .accepted)
    }

    func showQueue(request: Request, context: InternalContext) async throws -> JSONResponse<QueueReport> {
        JSONResponse(try await queueAdmin.report())
    }

    func listFailures(request: Request, context: InternalContext) async throws -> Page<PushFailure> {
        let id = try request.number("before", in: 0...Int64.max)
        return try await queueAdmin.failures(before: id, limit: request.limit())
    }

    func retry(request: Request, context: InternalContext) async throws -> JSONResponse<PushFailuresChanged> {
        JSONResponse(try await queueAdmin.retry(request.decode(as: PushFailureSelection.self, context: context)))
    }

    func drop(request: Request, context: InternalContext) async throws -> JSONResponse<PushFailuresChanged> {
        JSONResponse(try await queueAdmin.drop(request.decode(as: PushFailureSelection.self, context: context)))
    }
}

/// The body of `POST /internal/notifications`.
private struct NotificationRequests: Decodable {
    let notifications: [NotificationRequest]
}
