/// The reason why a network lacks a capability, in `reasonCodes` of `GET /networks`.
package enum CapabilityReason: String, Codable, CaseIterable, Sendable {
    /// The network's API does not offer it to other applications, in any version.
    case notOfferedByNetwork = "not_offered_by_network"
    /// Another version of the network's API offers it; the configured version does not.
    case notOfferedByVersion = "not_offered_by_api_version"
    /// The network sends it by webhook: it arrives on `/stream` and by push, and there is no list to read.
    case webhookOnly = "webhook_only"
    /// Roost sends it by push, and there is no list to read.
    case pushOnly = "push_only"
    /// The user did not grant access to it.
    case notGranted = "not_granted"
    /// The network's favourite is the capability `like`.
    case useLike = "use_like"
    /// The network's like is the capability `favorite`.
    case useFavorite = "use_favorite"
    /// The network offers it, but Roost does not use it.
    case notSupported = "not_supported"
    /// This deployment does not connect to the network.
    case notAvailableHere = "not_available_here"
}
