import NIOCore
import NIOHPACK
import NIOHTTP2

extension HTTP2Connection {
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let head): read(head, of: frame.streamID)
        case .data(let data): read(data, of: frame.streamID, context)
        case .rstStream(let code): reset(frame.streamID, code)
        case .settings(.settings(let settings)): apply(settings)
        case .goAway(let last, let code, let debugData): receiveGoAway(last, code, debugData)
        case .ping(_, let isAnswer): if isAnswer { keepAlive.recordPong() }
        default: break
        }
    }

    private func read(_ head: HTTP2Frame.FramePayload.Headers, of id: HTTP2StreamID) {
        guard streams[id] != nil else { return }
        if streams[id]?.status == 0 {
            guard let status = head.headers.first(name: ":status").flatMap({ Int($0) }), status >= 200 else { return }
            streams[id]?.status = status
            streams[id]?.fields = head.headers
        }
        if head.endStream { complete(id) }
    }

    private func read(_ data: HTTP2Frame.FramePayload.Data, of id: HTTP2StreamID, _ context: ChannelHandlerContext) {
        unacknowledgedBytes += data.data.readableBytes + (data.paddingBytes.map { $0 + 1 } ?? 0)
        guard case .byteBuffer(var bytes) = data.data, let stream = streams[id] else { return }
        let room = pool.settings.maximumBody - stream.body.readableBytes
        if bytes.readableBytes <= room {
            streams[id]?.body.writeBuffer(&bytes)
            if data.endStream { complete(id) }
        } else {
            var piece = bytes.readSlice(length: room) ?? ByteBuffer()
            streams[id]?.body.writeBuffer(&piece)
            complete(id)
            if !data.endStream { cancelStream(id, context) }
        }
    }

    private func complete(_ id: HTTP2StreamID) {
        guard let stream = streams[id] else { return }
        end(id, stream.status == 0 ? .failure(.lost("no status")) : .success(stream.response))
    }

    func cancelStream(_ id: HTTP2StreamID, _ context: ChannelHandlerContext) {
        let frame = HTTP2Frame(streamID: id, payload: .rstStream(.cancel))
        context.writeAndFlush(Self.wrapOutboundOut(frame), promise: nil)
    }

    private func reset(_ id: HTTP2StreamID, _ code: HTTP2ErrorCode) {
        // REFUSED_STREAM means that the server did not process the request, so it can be sent again (RFC 9113, section
        // 8.7).
        guard code == .refusedStream, let stream = streams.removeValue(forKey: id) else {
            return end(id, .failure(.lost("reset: \(code)")))
        }
        finished += 1
        pool.requeue(stream.pendingRequest)
    }

    private func apply(_ settings: HTTP2Settings) {
        let most = settings.last { $0.parameter == .maxConcurrentStreams }?.value
        if isOpen {
            guard let most else { return }
            limit = min(most, pool.settings.streams)
            if !isBlocked, !isRetired { pool.limitChanged(ObjectIdentifier(self), to: limit) }
        } else {
            // A server without this setting has no limit; RFC 9113 recommends that servers allow at least 100 streams.
            limit = min(most ?? 100, pool.settings.streams)
            isOpen = attempt.succeed(self, limit: limit)
        }
    }

    /// Returns requests above the last processed stream to the pool (RFC 9113, section 6.8).
    private func receiveGoAway(_ last: HTTP2StreamID, _ code: HTTP2ErrorCode, _ debugData: ByteBuffer?) {
        let debugText = debugData.map {
            String(buffer: $0.getSlice(at: $0.readerIndex, length: min($0.readableBytes, 200)) ?? $0)
        }
        closeReason = debugText.flatMap { $0.isEmpty ? nil : $0 } ?? "\(code)"
        guard isOpen else { return attempt.fail(.unreachable(closeReason ?? "GOAWAY")) }
        let unseen = streams.keys.filter { $0 > last }.sorted()
        retire(returning: unseen.compactMap { streams.removeValue(forKey: $0)?.pendingRequest })
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // A stream can close without a frame, for example after a response that violates the protocol.
        if let closed = event as? StreamClosedEvent {
            end(closed.streamID, .failure(.lost(closed.reason.map { "reset: \($0)" })))
        }
        context.fireUserInboundEventTriggered(event)
    }
}
