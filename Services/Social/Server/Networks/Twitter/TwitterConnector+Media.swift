import Foundation
import HTTPTypes
import Multipart
import NIOCore
import SocialAPI
import Wire

/// Uploads of media: photos in one request, videos in chunks followed by processing.
extension TwitterConnector {
    private static let piece = 4_194_304

    private func uploads(_ account: NetworkAccount) -> String {
        isV2(account)
            ? "\(key.baseURL)/2/media/upload"
            : "\(key.endpoint("UPLOAD_URL", where: Self.defaultURL, "https://upload.twitter.com"))/1.1/media/upload.json"
    }

    func send(_ media: OutgoingMedia, _ account: NetworkAccount) async throws -> String {
        let kind = media.type == "image/gif" ? "tweet_gif" : "tweet_image"
        var form = MultipartForm()
        form.add("media_category", kind)
        form.add("media", fileName: media.fileName, contentType: media.type, media.bytes)
        let (json, _) = try await send(.multipart(uploads(account), form), account)
        let id = try mediaID(json, account)
        if let alt = media.alt, !alt.isEmpty { try await describe(id, alt, account) }
        return id
    }

    func sendInChunks(_ media: OutgoingMedia, _ account: NetworkAccount) async throws -> String {
        let isV2 = isV2(account)
        let url = uploads(account)
        let size = String(media.bytes.readableBytes)
        let initialized: JSONValue
        if isV2 {
            let body: JSONValue = .object([
                "media_type": .string(media.type), "total_bytes": .integer(Int64(media.bytes.readableBytes)),
                "media_category": .string("tweet_video"),
            ])
            initialized = try await send(try .json("\(url)/initialize", body), account).json
        } else {
            initialized = try await send(
                form: url,
                ["command": "INIT", "total_bytes": size, "media_type": media.type, "media_category": "tweet_video"],
                account
            ).json
        }
        let id = try mediaID(initialized, account)
        var rest = media.bytes
        var index = 0
        while let piece = rest.readSlice(length: min(Self.piece, rest.readableBytes)), piece.readableBytes > 0 {
            var form = MultipartForm()
            if !isV2 {
                form.add("command", "APPEND")
                form.add("media_id", id)
            }
            form.add("segment_index", String(index))
            form.add("media", fileName: media.fileName, contentType: media.type, piece)
            let chunkURL = isV2 ? "\(url)/\(id.pathSegment)/append" : url
            // The response to a chunk has no body.
            _ = try await calls.send(try signed(.multipart(chunkURL, form), account))
            index += 1
        }
        let finished =
            isV2
            ? try await send(NetworkRequest(.post, "\(url)/\(id.pathSegment)/finalize"), account).json
            : try await send(form: url, ["command": "FINALIZE", "media_id": id], account).json
        try await waitUntilProcessed(finished, id, account)
        return id
    }

    /// Waits until the video is processed, with the pauses that the network demands.
    private func waitUntilProcessed(_ finished: JSONValue, _ id: String, _ account: NetworkAccount) async throws {
        var latest = finished
        _ = try await untilDone(60, pausing: { _ in }) { () -> Bool? in
            guard let info = (latest["data"] ?? latest)["processing_info"] else { return true }
            switch info["state"]?.text {
            case "succeeded": return true
            case "failed":
                let reason = info["error"]?["message"]?.text ?? "the network rejected the video"
                throw NetworkError(.invalid, NetworkError.oneLine(reason), code: info["error"]?["name"]?.text)
            default: break
            }
            try await pause(.seconds(min(max(info["check_after_secs"]?.double ?? 1, 0.5), 30)))
            let statusURL = uploads(account).adding(["command": "STATUS", "media_id": id])
            latest = try await send(.get(statusURL), account).json
            return nil
        }
    }

    private func mediaID(_ json: JSONValue, _ account: NetworkAccount) throws -> String {
        let id = isV2(account) ? json["data"]?["id"]?.identifier : json["media_id_string"]?.identifier
        guard let id else { throw NetworkError(.transient, "the network returned no id for the media") }
        return id
    }

    /// Adds the alternative text of a photo.
    private func describe(_ id: String, _ alt: String, _ account: NetworkAccount) async throws {
        let text: JSONValue = .object(["text": .string(String(alt.prefix(1_000)))])
        let (url, body): (String, JSONValue) =
            isV2(account)
            ? (
                "\(key.baseURL)/2/media/metadata",
                .object(["id": .string(id), "metadata": .object(["alt_text": text])])
            )
            : (
                "\(uploads(account).replacing("/media/upload.json", with: ""))/media/metadata/create.json",
                .object(["media_id": .string(id), "alt_text": text])
            )
        do {
            _ = try await calls.send(try signed(.json(url, body), account))
        } catch let error as NetworkError where error.kind != .auth {
            // The error is ignored: a photo without its alternative text is better than none.
        }
    }
}
