import Credentials
import Hummingbird
import PushAPI
import ServiceHost
import Wire

/// Serves `/devices`, and the key with which a browser subscribes.
struct DeviceRoutes {
    let devices: Devices
    let providers: Providers

    func add(to routes: SuiteRoutes) {
        routes.user.post("devices", use: register)
        routes.user.get("devices", use: list)
        routes.user.delete("devices/:id", use: remove)
        routes.open.get("push/vapid-key", use: showKey)
    }

    func register(request: Request, context: UserContext) async throws -> JSONResponse<Device> {
        let draft = try await request.decode(as: DeviceDraft.self, context: context)
        return JSONResponse(try await devices.register(draft, by: context.identity))
    }

    func list(request: Request, context: UserContext) async throws -> Page<Device> {
        try await devices.list(of: context.identity, limit: request.limit(), cursor: request.query("cursor"))
    }

    func remove(request: Request, context: UserContext) async throws -> JSONResponse<DeviceRemoval> {
        JSONResponse(try await devices.remove(context.path("id"), of: context.user))
    }

    func showKey(request: Request, context: SuiteContext) async throws -> JSONResponse<ApplicationServerKey> {
        let application = context.identity?.user.application ?? RoostApplication.id
        guard let key = try await providers.applicationServerKey(of: application) else {
            throw APIError(.notFound, "vapid_key_not_configured", "Web Push is not configured")
        }
        return JSONResponse(ApplicationServerKey(publicKey: key))
    }
}
