import Hummingbird
import PushAPI
import ServiceHost
import Wire

/// Serves `/internal/notifications`, by which services notify users, and the operator's `/internal/push`.
struct PipelineNeighbourRoutes {
    let intake: Intake
    let oversight: Oversight

    func add(to routes: SuiteRoutes) {
        let publishers = routes.internalRoutes(from: [.conversations, .photos, .social])
        publishers.post("notifications", use: take)

        let operatorCommand = routes.internalRoutes(from: [.operatorCommand])
        operatorCommand.get("push/queue", use: showQueue)
        operatorCommand.get("push/failures", use: listFailures)
        operatorCommand.post("push/failures/retry", use: retry)
        operatorCommand.post("push/failures/drop", use: drop)
    }

    func take(request: Request, context: NeighbourContext) async throws -> Reply<NotificationsTaken> {
        let requests = try await request.decode(as: NotificationRequests.self, context: context).notifications
        return Reply(try await intake.take(requests), status: .accepted)
    }

    func showQueue(request: Request, context: NeighbourContext) async throws -> Reply<QueueReport> {
        Reply(try await oversight.report())
    }

    func listFailures(request: Request, context: NeighbourContext) async throws -> Page<PushFailure> {
        let id = try request.number("before", in: 0...Int64.max)
        return try await oversight.failures(before: id, limit: request.limit())
    }

    func retry(request: Request, context: NeighbourContext) async throws -> Reply<PushFailuresChanged> {
        Reply(try await oversight.retry(request.decode(as: PushFailureSelection.self, context: context)))
    }

    func drop(request: Request, context: NeighbourContext) async throws -> Reply<PushFailuresChanged> {
        Reply(try await oversight.drop(request.decode(as: PushFailureSelection.self, context: context)))
    }
}

/// The body of `POST /internal/notifications`.
private struct NotificationRequests: Decodable {
    let notifications: [NotificationRequest]
}
