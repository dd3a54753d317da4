import Hummingbird
import PushAPI
import ServiceHost
import Wire

/// Serves `/internal/notifications`, what other services have to tell people; and the operator's `/internal/push`.
struct PipelineNeighbourRoutes {
    let intake: Intake
    let oversight: Oversight

    func add(to routes: SuiteRoutes) {
        routes.neighbour.post("notifications", use: take)
        routes.neighbour.get("push/queue", use: showQueue)
        routes.neighbour.get("push/failures", use: listFailures)
        routes.neighbour.post("push/failures/retry", use: retry)
        routes.neighbour.post("push/failures/drop", use: drop)
    }

    func take(request: Request, context: NeighbourContext) async throws -> Reply<NotificationsTaken> {
        let requests = try await request.decode(as: NotificationRequests.self, context: context).notifications
        return Reply(try await intake.take(requests), status: .accepted)
    }

    func showQueue(request: Request, context: NeighbourContext) async throws -> Reply<QueueReport> {
        try context.requireOperator()
        return Reply(try await oversight.report())
    }

    func listFailures(request: Request, context: NeighbourContext) async throws -> Page<PushFailure> {
        try context.requireOperator()
        let id = try request.number("before", in: 0...Int64.max)
        return try await oversight.failures(before: id, limit: request.limit())
    }

    func retry(request: Request, context: NeighbourContext) async throws -> Reply<PushFailuresChanged> {
        try context.requireOperator()
        return Reply(try await oversight.retry(request.decode(as: PushFailureSelection.self, context: context)))
    }

    func drop(request: Request, context: NeighbourContext) async throws -> Reply<PushFailuresChanged> {
        try context.requireOperator()
        return Reply(try await oversight.drop(request.decode(as: PushFailureSelection.self, context: context)))
    }
}

/// The body of `POST /internal/notifications`.
private struct NotificationRequests: Decodable {
    let notifications: [NotificationRequest]
}
