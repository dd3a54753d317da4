import CLibpq
import DequeModule

extension Connection {
    /// Sends a segment including its Sync; returns false if the connection is lost.
    func send(_ segment: Segment, opening: String? = nil, now: Int64) -> Bool {
        guard isPipelined else { return sendAlone(segment, now: now) }
        // DEALLOCATE fails inside a failed transaction.
        if !cache.discarded.isEmpty, !isPooled || opening != nil || segment.purpose == .standalone {
            guard deallocate(now: now) else { return false }
        }
        if let opening {
            guard enqueue(preparing: StatementKey(sql: opening), step: { _ in .begin }, segment) else { return false }
        }
        switch segment.work {
        case .statements(let statements):
            for statement in statements {
                guard enqueue(statement, of: segment) else { return false }
            }
        case .plain(let sql), .script(let sql):
            guard PQsendQueryParams(handle, sql, 0, nil, nil, nil, nil, 1) == 1 else { return false }
            segment.steps.append(.run(nil))
        }
        guard PQpipelineSync(handle) == 1 else { return false }
        append(segment, now: now)
        return true
    }

    private func append(_ segment: Segment, now: Int64) {
        if inFlight.isEmpty { headSince = now }
        segment.queueState = .inFlight(self)
        inFlight.append(segment)
    }

    private func enqueue(_ statement: Statement, of segment: Segment) -> Bool {
        if let entry = cache.find(statement.key) {
            let isOurs = segment.steps.contains { if case .prepare(let other) = $0 { other === entry } else { false } }
            if entry.isConfirmed || isOurs {
                segment.steps.append(.run(entry))
                return execute(entry.name, statement)
            }
            segment.steps.append(.run(nil))
            return statement.withBinding { count, values, lengths, formats in
                statement.key.types.withUnsafeBufferPointer { types in
                    PQsendQueryParams(
                        handle,
                        statement.key.sql,
                        count,
                        types.baseAddress,
                        values,
                        lengths,
                        formats,
                        1
                    )
                }
            } == 1
        }
        guard let entry = prepare(statement.key, of: segment) else { return false }
        segment.steps.append(.run(entry))
        return execute(entry.name, statement)
    }

    private func execute(_ name: String, _ statement: Statement) -> Bool {
        statement.withBinding { count, values, lengths, formats in
            PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1)
        } == 1
    }

    private func enqueue(
        preparing key: StatementKey,
        step: (StatementCache.Entry) -> Segment.Step,
        _ segment: Segment
    ) -> Bool {
        if let entry = cache.find(key), entry.isConfirmed {
            segment.steps.append(step(entry))
            return PQsendQueryPrepared(handle, entry.name, 0, nil, nil, nil, 1) == 1
        }
        guard let entry = prepare(key, of: segment) else { return false }
        segment.steps.append(step(entry))
        return PQsendQueryPrepared(handle, entry.name, 0, nil, nil, nil, 1) == 1
    }

    private func prepare(_ key: StatementKey, of segment: Segment) -> StatementCache.Entry? {
        let entry = cache.insert(key)
        segment.steps.append(.prepare(entry))
        let sent = key.types.withUnsafeBufferPointer { types in
            PQsendPrepare(handle, entry.name, key.sql, Int32(types.count), types.baseAddress)
        }
        return sent == 1 ? entry : nil
    }

    /// Deallocates evicted prepared statements, each in its own segment so that one failure does not affect the others.
    private func deallocate(now: Int64) -> Bool {
        let names = cache.discarded
        cache.discarded = []
        for name in names {
            let segment = Segment(.plain(""), timeout: 10 * Monotonic.second, purpose: .maintenance)
            segment.steps = [.run(nil)]
            guard PQsendQueryParams(handle, "DEALLOCATE \(name)", 0, nil, nil, nil, nil, 1) == 1,
                PQpipelineSync(handle) == 1
            else { return false }
            append(segment, now: now)
        }
        return true
    }

    /// Sends a segment outside pipeline mode, where only one can be in flight.
    private func sendAlone(_ segment: Segment, now: Int64) -> Bool {
        let sent: Int32
        switch segment.work {
        case .script(let sql), .plain(let sql):
            sent = PQsendQuery(handle, sql)
        case .statements(let statements):
            guard statements.count == 1 else { return false }
            sent = statements[0].withBinding { count, values, lengths, formats in
                statements[0].key.types.withUnsafeBufferPointer { types in
                    PQsendQueryParams(
                        handle,
                        statements[0].key.sql,
                        count,
                        types.baseAddress,
                        values,
                        lengths,
                        formats,
                        1
                    )
                }
            }
        }
        guard sent == 1 else { return false }
        append(segment, now: now)
        return true
    }

    /// Writes libpq's buffered output; returns true if the socket accepted all of it, nil if the connection is lost.
    func flush() -> Bool? {
        switch PQflush(handle) {
        case 0: true
        case 1: false
        default: nil
        }
    }
}
