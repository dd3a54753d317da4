import NIOCore

/// Long polling: GET and POST requests.
extension EngineConnection {
    func poll(_ exchange: PendingRequest) {
        switch stage {
        case .polling where isOverdue:
            closeNow(.pingTimeout)
            exchange.respond(.error(.unknownSession))
        case .polling where polling?.poll != nil:
            exchange.respond(.error(.badRequest))
            closeNow(.transportError)
        case .polling:
            polling?.poll = exchange
            flushPolling()
            respondNoop(loop.eventLoop.now)
        case .leaving(let last, _):
            polling?.append(last)
            respondLast(exchange)
        case .streaming:
            exchange.respond(.error(.badRequest))
        case .closed:
            exchange.respond(.error(.unknownSession))
        }
    }

    private var acceptsBinary: Bool { polling?.acceptsBinary ?? false }

    /// Answers a closing client's last poll with all queued packets, and removes the connection.
    func respondLast(_ exchange: PendingRequest) {
        var packets: [PollingPacket] = []
        while let waiting = polling, !waiting.queue.isEmpty { packets += polling?.dequeuePackets(for: revision) ?? [] }
        exchange.respond(.packets(packets, revision: revision, acceptsBinary: acceptsBinary))
        forget()
    }

    func flushPolling() {
        guard let waiting = polling, !waiting.queue.isEmpty else { return }
        guard let exchange = polling?.dequeuePoll() else {
            if waiting.queuedBytes > core.configuration.limits.bufferedBytes { closeNow(.transportError, .abrupt) }
            return
        }
        let packets = polling?.dequeuePackets(for: revision) ?? []
        exchange.respond(.packets(packets, revision: revision, acceptsBinary: acceptsBinary))
    }

    func post(_ exchange: PendingRequest, _ body: ByteBuffer, _ lease: PayloadLease?, isBinary: Bool) {
        switch stage {
        case .polling where isOverdue:
            closeNow(.pingTimeout)
            exchange.respond(.error(.unknownSession))
        case .polling where polling?.post != nil || isBinary && revision == .four:
            exchange.respond(.error(.badRequest))
            closeNow(.transportError)
        case .polling:
            guard isBinary || UTF8Check.isWellFormed(body) else {
                exchange.respond(.error(.badRequest))
                return closeNow(.parseError)
            }
            let packets = core.configuration.limits.packets
            let reader = PollingPayloadReader(body, revision: revision, isBinary: isBinary, packets: packets)
            polling?.post = PollingTransport.Post(exchange: exchange, reader: reader, lease: lease)
            continuePost()
        case .streaming:
            exchange.respond(.error(.badRequest))
        case .leaving, .closed:
            exchange.respond(.error(.unknownSession))
        }
    }

    /// Handles the next packet of a POST body, unless reading is on hold.
    func continuePost() {
        guard holds == 0, isOpen, polling?.post != nil else { return }
        do {
            if let packet = try polling?.post?.reader.next() {
                lease = polling?.post?.lease
                receive(packet)
                lease = nil
                // Enqueued after the callback's own calls: one may put reading on hold or close the connection.
                loop.perform { self.continuePost() }
            } else {
                polling?.post?.exchange.respond(.ok)
                polling?.post = nil
            }
        } catch {
            closeNow(.parseError)
        }
    }

    /// Handles a client that disconnected before its request was answered.
    func aborted(_ exchange: PendingRequest) {
        if polling?.poll === exchange {
            polling?.poll = nil
            closeNow(.transportClose)
        } else if polling?.post?.exchange === exchange {
            polling?.post = nil
            closeNow(.transportError)
        }
    }
}
