import Foundation
import HTTPTypes
import OAuth1
import Wire

extension BlueskyConnector {
    private var videoService: String { key.endpoint("VIDEO_URL", where: Self.defaultURL, "https://video.bsky.app") }

    /// Uploads a video through the video service, which converts it and stores it in the PDS.
    ///
    /// The service accepts tokens that the PDS issues for a single method.
    func sendVideo(_ video: OutgoingMedia, named key: UUID, _ account: NetworkAccount) async throws -> JSONValue {
        let host = URL(string: pds(account))?.host() ?? ""
        let sending = try await serviceToken("did:web:\(host)", "com.atproto.repo.uploadBlob", account)
        let uploadURL = "\(videoService)/xrpc/app.bsky.video.uploadVideo"
            .adding(["did": account.id, "name": "\(key.uuidString.lowercased()).mp4"])
        var request = NetworkRequest(.post, uploadURL, body: video.bytes)
        request.headers[.contentType] = video.type
        let (job, _) = try await calls.json(request.bearer(sending))
        if let blob = Self.done(job) { return blob }
        guard let id = (job["jobStatus"] ?? job)["jobId"]?.nonEmpty else {
            throw NetworkError(.transient, "the video service returned no job id")
        }
        let statusURL = "\(videoService)/xrpc/app.bsky.video.getJobStatus".adding(["jobId": id])
        return try await untilDone(60, pausing: pause) {
            let (status, _) = try await calls.json(.get(statusURL))
            if status["jobStatus"]?["state"]?.text == "JOB_STATE_FAILED" {
                let reason = status["jobStatus"]?["error"]?.text ?? "the video service rejected the video"
                throw NetworkError(.invalid, NetworkError.oneLine(reason), code: "JOB_STATE_FAILED")
            }
            return Self.done(status)
        }
    }

    private static func done(_ json: JSONValue) -> JSONValue? {
        let status = json["jobStatus"] ?? json
        return status["state"]?.text == "JOB_STATE_COMPLETED" ? status["blob"] : nil
    }

    private func serviceToken(_ audience: String, _ method: String, _ account: NetworkAccount) async throws -> String {
        let (json, _) = try await read(
            "com.atproto.server.getServiceAuth",
            ["aud": audience, "lxm": method],
            account
        )
        guard let token = json["token"]?.nonEmpty else { throw NetworkError(.transient, "the PDS returned no token") }
        return token
    }
}
