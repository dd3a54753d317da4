import Hummingbird
import NIOCore
import ServiceHost
import SocialAPI
import Wire

/// Serves `/webhooks`: what networks call.
struct WebhookRoutes {
    /// Bytes of a delivery: networks put many changes into one.
    private static let maximumDelivery = 1_048_576

    let webhooks: Webhooks

    func add(to routes: SuiteRoutes) {
        routes.open.get("webhooks/:network", use: greet)
        routes.deliveries.post("webhooks/:network", use: take)
    }

    func greet(request: Request, context: SuiteContext) async throws -> Response {
        let query = request.uri.queryParameters.map { (String($0.key), String($0.value)) }
        let greeting = try webhooks.greet(context.network(), Dictionary(query) { first, _ in first })
        return Response(
            status: .ok,
            headers: [.contentType: greeting.contentType, .xContentTypeOptions: "nosniff"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: greeting.body))
        )
    }

    func take(request: Request, context: SuiteContext) async throws -> Reply<[String: Bool]> {
        let network = try context.network()
        var request = request
        // The signature is over the bytes as they came.
        let body = try await request.collectBody(upTo: Self.maximumDelivery)
        let headers = request.headers.map { ($0.name.canonicalName, $0.value) }
        let delivery = WebhookDelivery(headers: Dictionary(headers) { first, _ in first }, body: body)
        try await webhooks.take(delivery, from: network)
        return Reply(["success": true])
    }
}
