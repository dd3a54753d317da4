import NIOCore
import Wire

/// Rate limits of a request: by address, by user and for registrations.
extension ProxyHandler {
    /// Counts the request against `limit`, if there is one; `share` requests count as one.
    func count(
        _ limit: RateLimit?,
        _ key: @autoclosure () -> UInt64,
        share: UInt64 = 1
    ) throws(APIError) {
        guard let limit else { return }
        do {
            request.quota = try limit.admit(key(), share: share, now: request.started.uptimeNanoseconds)
        } catch {
            request.quota = error.quota
            throw error.apiError
        }
    }

    var addressKey: UInt64 {
        let address = clientAddress
        if let cached = cachedAddressKey, cached.address == address { return cached.key }
        let key = ClientKey.address(address)
        cachedAddressKey = (address, key)
        return key
    }
}
