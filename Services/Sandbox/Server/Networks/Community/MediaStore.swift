import Foundation
import Locks
import NIOCore
import NIOHTTP1

/// The seeded photos and videos, and the uploaded ones up to a limit of 256 MiB.
final class MediaStore: Sendable {
    /// The PNG of every seeded photo, 8 by 8 pixels.
    static let photo =
        Data(
            base64Encoded:
                "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAbElEQVR42hXNQRUAUQhCUZOYhCQmeUlIQhISzR+XXA7ODDtouIHB"
                + "Q4YOM8suWm5h8ZKl+0CskDiBsIioHhx76LiDw0eO3oN/4FVf+J8h0PduzBqZ8x/bxNQPwgaFy192SGgelC0q13/CJaXlA+odUoEV"
                + "KnyAAAAAAElFTkSuQmCC"
        ) ?? Data()

    private static let limit = 256 * 1_024 * 1_024

    struct Upload: Sendable {
        let attachment: Attachment
        /// The number of the person who uploaded the file.
        let owner: Int
        let bytes: ByteBuffer
        let at: Date
        var isUsed = false
    }

    private struct State {
        var uploads: [Int64: Upload] = [:]
        var order: [Int64] = []
        var bytes = 0
        var last: Int64 = 1_000_000
    }

    private let state = Lock(State())

    /// Stores an upload, and removes the oldest uploads above the limit.
    func save(_ bytes: ByteBuffer, type: String, description: String? = nil, by owner: Int, at time: Date) -> Upload {
        state.withLock { state in
            state.last += 1
            var attachment = Attachment(
                id: state.last,
                kind: type.hasPrefix("video/") ? .video : .photo,
                type: type
            )
            attachment.size = bytes.readableBytes
            attachment.description = description
            let upload = Upload(attachment: attachment, owner: owner, bytes: bytes, at: time)
            state.uploads[state.last] = upload
            state.order.append(state.last)
            state.bytes += bytes.readableBytes
            while state.bytes > Self.limit, let oldest = state.order.first {
                state.order.removeFirst()
                state.bytes -= state.uploads.removeValue(forKey: oldest)?.bytes.readableBytes ?? 0
            }
            return upload
        }
    }

    func upload(_ id: Int64, of owner: Int? = nil) -> Upload? {
        state.withLock { $0.uploads[id] }.flatMap { owner == nil || $0.owner == owner ? $0 : nil }
    }

    func use(_ ids: [Int64]) {
        state.withLock { state in for id in ids { state.uploads[id]?.isUsed = true } }
    }

    /// The response to `/sandbox/media/{id}`, which the media links of posts name.
    func response(_ id: Int64) -> WebResponse? {
        if let upload = upload(id) {
            return WebResponse(.ok, headers: ["content-type": upload.attachment.type], body: upload.bytes)
        }
        guard 500_000..<1_000_000 ~= id else { return nil }
        return WebResponse(.ok, headers: ["content-type": "image/png"], body: ByteBuffer(bytes: Self.photo))
    }
}
