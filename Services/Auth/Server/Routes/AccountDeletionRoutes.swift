import AuthAPI
import Hummingbird
import ServiceHost
import Wire

/// Serves `DELETE /auth/me`, and the operator's list of pending account deletions.
struct AccountDeletionRoutes {
    let accountDeletions: AccountDeletions
    let deletionJobs: DeletionJobs

    func add(to routes: SuiteRoutes) {
        routes.user.delete("auth/me", use: delete)
        routes.internalRoutes(from: [.operatorCommand]).get("deletions", use: list)
    }

    func delete(request: Request, context: UserContext) async throws -> JSONResponse<Done> {
        let deletion = try await request.decodeOptional(as: AccountDeletion.self, context: context)
        try await accountDeletions.delete(deletion ?? AccountDeletion(), by: context.identity)
        return JSONResponse(Done(), status: .accepted)
    }

    func list(request: Request, context: InternalContext) async throws -> Page<PendingDeletion> {
        try await deletionJobs.list()
    }
}
