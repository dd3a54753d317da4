import ConversationsAPI
import Wire

/// Handles the events `devices/…` and `users/…`: a device's push registration and `meta`, and its owner's `meta`.
struct DeviceEvents: Sendable {
    let devices: Devices

    func add(to events: inout SocketEvents) {
        events.on("devices/updatePushToken", use: updatePushToken)
        events.on("devices/setBadge", use: setBadge)
        events.on("devices/updateMeta", use: updateDeviceMeta)
        events.on("users/updateMeta", use: updateMeta)
    }

    func updatePushToken(call: SocketCall) async throws -> SocketResponse {
        let change = try call.decode(as: PushTokenChange.self)
        let (device, session) = (call.caller.device, call.caller.connection.session)
        return try SocketResponse(try await devices.update(change, of: device, in: session, call.user))
    }

    func setBadge(call: SocketCall) async throws -> SocketResponse {
        let change = try call.decode(as: BadgeChange.self)
        let (device, session) = (call.caller.device, call.caller.connection.session)
        return try SocketResponse(try await devices.update(change, of: device, in: session, call.user))
    }

    func updateDeviceMeta(call: SocketCall) async throws -> SocketResponse {
        let meta = try call.decode(as: MetaReplacement.self).meta
        return try SocketResponse(try await devices.replaceMeta(meta, of: call.caller.device, call.user))
    }

    func updateMeta(call: SocketCall) async throws -> SocketResponse {
        let meta = try call.decode(as: MetaReplacement.self).meta
        return try SocketResponse(try await devices.replaceMeta(meta, of: call.user))
    }
}
