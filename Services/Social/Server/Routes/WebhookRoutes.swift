import Hummingbird
import NIOCore
import ServiceHost
import SocialAPI
import Wire

/// The routes of `/webhooks`, which networks call.
struct WebhookRoutes {
    /// The maximum size of a delivery in bytes; networks combine many changes in a delivery.
    private static let maximumDelivery = 1_048_576

    let webhooks: Webhooks

    func add(to routes: SuiteRoutes) {
        routes.open.get("webhooks/:network", use: verify)
        routes.deliveries.post("webhooks/:network", use: record)
    }

    func verify(request: Request, context: SuiteContext) async throws -> Response {
        let query = request.uri.queryParameters.map { (String($0.key), String($0.value)) }
        let response = try webhooks.verify(context.network(), Dictionary(query) { first, _ in first })
        return Response(
            status: .ok,
            headers: [.contentType: response.contentType, .xContentTypeOptions: "nosniff"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: response.body))
        )
    }

    func record(request: Request, context: SuiteContext) async throws -> JSONResponse<[String: Bool]> {
        let network = try context.network()
        var request = request
        // The signature covers the original bytes of the body.
        let body = try await request.collectBody(upTo: Self.maximumDelivery)
        let headers = request.headers.map { ($0.name.canonicalName, $0.value) }
        let delivery = WebhookDelivery(headers: Dictionary(headers) { first, _ in first }, body: body)
        try await webhooks.record(delivery, from: network)
        return JSONResponse(["success": true])
    }
}
