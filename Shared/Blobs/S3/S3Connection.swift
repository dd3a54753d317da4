import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Makes signed requests to one bucket, again where that may help, and tells what came of them.
final class S3Connection: Sendable {
    /// The most of a small answer that is read, in bytes: a list of 1,000 uploads has some 500 kB.
    private static let maximumResponseSize = 2_097_152

    let configuration: S3Configuration
    private let authority: String
    private let signer: RequestSigner
    private let client: HTTPClient

    init(_ configuration: S3Configuration) throws {
        try configuration.check()
        guard let authority = configuration.authority else { throw S3ConfigurationError.endpoint }
        self.configuration = configuration
        self.authority = authority
        signer = RequestSigner(
            region: configuration.region,
            accessKey: configuration.accessKey,
            secretKey: configuration.secretKey
        )
        client = HTTPClient(
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            configuration: try Self.clientConfiguration(configuration)
        )
    }

    deinit {
        // Requests hold on to this object, so none is on its way any more.
        client.shutdown(queue: .global()) { _ in }
    }

    /// Makes a request whose answer is small.
    func response(_ request: S3Request) async throws -> S3Response {
        try await retrying(request) { response in
            var bytes = ByteBuffer()
            for try await piece in response.body {
                guard bytes.readableBytes + piece.readableBytes <= Self.maximumResponseSize else {
                    throw BlobError.failed(request.purpose, code: 0)
                }
                bytes.writeImmutableBuffer(piece)
            }
            let text = S3XMLText(String(buffer: bytes))
            // S3 begins to answer some requests before it knows how they end (CompleteMultipartUpload).
            guard !text.is("Error") else { throw S3ErrorResponse(status: response.status.code, response: text) }
            return S3Response(isFound: true, headers: response.headers, text: text)
        } missing: {
            S3Response(isFound: false, headers: [:], text: S3XMLText(""))
        }
    }

    /// Makes a request whose answer is a blob, or a part of one; nil where there is none.
    func body(_ request: S3Request) async throws -> HTTPClientResponse? {
        try await retrying(request) {
            $0
        } missing: {
            nil
        }
    }

    /// What an error on the way counts as.
    func failure(_ error: any Error) -> any Error {
        if Task.isCancelled || error is CancellationError { return CancellationError() }
        return error as? BlobError ?? BlobError.unavailable("\(authority): \(error)")
    }

    /// Waits a little before the next attempt, longer each time, and not all for the same time.
    func pause(after attempt: Int) async throws {
        let longest = configuration.pause * (1 << (2 * min(attempt - 1, 4)))
        try await Task.sleep(for: longest * Double.random(in: 0.5...1))
    }

    private func retrying<Output>(
        _ request: S3Request,
        _ read: (HTTPClientResponse) async throws -> Output,
        missing: () -> Output
    ) async throws -> Output {
        var attempt = 1
        while true {
            do {
                let response = try await client.execute(signed(request), timeout: TimeAmount(configuration.timeout))
                if (200..<300).contains(response.status.code) { return try await read(response) }
                let refusal = S3ErrorResponse(status: response.status.code, response: try await Self.reason(response))
                if refusal.isMissing, request.mayBeMissing { return missing() }
                throw refusal
            } catch {
                let refusal = error as? S3ErrorResponse
                let failure = refusal?.blobError(of: request, at: authority) ?? self.failure(error)
                let isRetryable = refusal?.isTransient ?? (!(error is BlobError) && !(failure is CancellationError))
                guard isRetryable, attempt < request.attempts ?? configuration.attempts else { throw failure }
            }
            try await pause(after: attempt)
            attempt += 1
        }
    }

    private func signed(_ request: S3Request) -> HTTPClientRequest {
        let now = Date()
        let name = request.key.map { "/\(configuration.prefix)\($0.folder)/\($0)" } ?? ""
        let path = "/\(configuration.bucket)\(name)"
        let headers =
            request.headers + [
                ("host", authority), ("x-amz-content-sha256", request.bodyHash),
                ("x-amz-date", RequestSigner.moment(now)),
            ]
        let query = request.query.isEmpty ? "" : "?" + RequestSigner.query(request.query)
        var outgoing = HTTPClientRequest(url: configuration.endpoint + path + query)
        outgoing.method = request.method
        for (name, value) in headers { outgoing.headers.add(name: name, value: value) }
        let authorization = signer.authorization(
            RequestSigner.Signed(
                method: request.method.rawValue,
                path: path,
                query: request.query,
                headers: headers,
                bodyHash: request.bodyHash
            ),
            at: now
        )
        outgoing.headers.add(name: "authorization", value: authorization)
        switch request.body {
        case .none: break
        case .bytes(let bytes): outgoing.body = .bytes(bytes)
        case .spooled(let bytes): outgoing.body = .stream(bytes, length: .known(bytes.size))
        }
        return outgoing
    }

    /// Why a request was refused; what cannot be read says nothing, and the status is enough.
    private static func reason(_ response: HTTPClientResponse) async throws -> S3XMLText {
        S3XMLText(String(buffer: try await response.body.collect(upTo: 65_536)))
    }

    private static func clientConfiguration(_ configuration: S3Configuration) throws -> HTTPClient.Configuration {
        // A redirect would go to a host that the request is not signed for.
        var client = HTTPClient.Configuration(redirectConfiguration: .disallow)
        client.timeout = HTTPClient.Configuration.Timeout(
            connect: TimeAmount(configuration.connectTimeout),
            read: TimeAmount(configuration.timeout),
            write: TimeAmount(configuration.timeout)
        )
        client.decompression = .disabled
        client.httpVersion = .http1Only
        // Each request fails by itself and is made again here, with a limit.
        client.connectionPool.retryConnectionEstablishment = false
        client.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        if let pem = configuration.trustedAuthorities {
            guard let authorities = try? NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)), !authorities.isEmpty else {
                throw S3ConfigurationError.trustedAuthorities
            }
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.additionalTrustRoots = [.certificates(authorities)]
            client.tlsConfiguration = tls
        }
        return client
    }
}

/// An answer that is not what was asked for.
private struct S3ErrorResponse: Error {
    let status: UInt
    /// S3's own word for it, like `SlowDown`; empty where the answer has none.
    let code: String

    init(status: UInt, response: S3XMLText) {
        self.status = status
        code = response["Code"] ?? ""
    }

    var isMissing: Bool { status == 404 && code != "NoSuchBucket" }

    /// Whether the same request may be answered in a moment.
    var isTransient: Bool {
        guard !isFull else { return false }
        return [408, 429, 500, 502, 503, 504].contains(status)
            || ["RequestTimeout", "SlowDown", "InternalError", "OperationAborted", "ServiceUnavailable"].contains(code)
    }

    private var isFull: Bool {
        // S3 itself has no end; those that have one say so in words of their own.
        status == 507
            || ["XMinioStorageFull", "QuotaExceeded", "XMinioAdminBucketQuotaExceeded", "InsufficientStorage"].contains(
                code
            )
    }

    func blobError(of request: S3Request, at authority: String) -> BlobError {
        if isFull { return .noSpace }
        // What concerns the bucket or the key is no fault of this one blob: all wait until an operator has seen to it.
        let isOurs = [301, 307, 400, 401, 403].contains(status) || code == "NoSuchBucket"
        guard isOurs || isTransient else { return .failed(request.purpose, code: Int32(status)) }
        return .unavailable("\(authority): \(status) \(code) to \"\(request.purpose)\"")
    }
}
