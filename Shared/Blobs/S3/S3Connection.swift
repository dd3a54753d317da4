import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Sends signed requests to one bucket, retries them, and maps errors.
final class S3Connection: Sendable {
    /// The largest small response in bytes: a list of 1,000 uploads takes about 500 kB.
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
        // Running requests retain this object, so none is in flight.
        client.shutdown(queue: .global()) { _ in }
    }

    /// Sends a request whose response is small and reads it completely.
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
            // S3 starts some responses before it knows the result, such as that of CompleteMultipartUpload.
            guard !text.is("Error") else { throw S3ErrorResponse(status: response.status.code, response: text) }
            return S3Response(isFound: true, headers: response.headers, text: text)
        } missing: {
            S3Response(isFound: false, headers: [:], text: S3XMLText(""))
        }
    }

    /// Sends a request whose response is a blob or a part of it; nil if there is none.
    func body(_ request: S3Request) async throws -> HTTPClientResponse? {
        try await retrying(request) {
            $0
        } missing: {
            nil
        }
    }

    /// Maps an error of a request.
    func failure(_ error: any Error) -> any Error {
        if Task.isCancelled || error is CancellationError { return CancellationError() }
        return error as? BlobError ?? BlobError.unavailable("\(authority): \(error)")
    }

    /// Waits before the next attempt: 4 times longer after each, and randomly up to 50 % shorter.
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

    /// Reads the error document of a response; an unreadable one is empty, since the status suffices.
    private static func reason(_ response: HTTPClientResponse) async throws -> S3XMLText {
        S3XMLText(String(buffer: try await response.body.collect(upTo: 65_536)))
    }

    private static func clientConfiguration(_ configuration: S3Configuration) throws -> HTTPClient.Configuration {
        // The signature is valid for this host only, so a redirect cannot be followed.
        var client = HTTPClient.Configuration(redirectConfiguration: .disallow)
        client.timeout = HTTPClient.Configuration.Timeout(
            connect: TimeAmount(configuration.connectTimeout),
            read: TimeAmount(configuration.timeout),
            write: TimeAmount(configuration.timeout)
        )
        client.decompression = .disabled
        client.httpVersion = .http1Only
        // Each request is retried here, with a limit.
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

/// An error response of S3.
private struct S3ErrorResponse: Error {
    let status: UInt
    /// S3's error code, such as `SlowDown`; empty if the response has none.
    let code: String

    init(status: UInt, response: S3XMLText) {
        self.status = status
        code = response["Code"] ?? ""
    }

    var isMissing: Bool { status == 404 && code != "NoSuchBucket" }

    /// Whether a retry may succeed.
    var isTransient: Bool {
        guard !isFull else { return false }
        return [408, 429, 500, 502, 503, 504].contains(status)
            || ["RequestTimeout", "SlowDown", "InternalError", "OperationAborted", "ServiceUnavailable"].contains(code)
    }

    private var isFull: Bool {
        // S3 itself has no capacity limit; these are the codes of other implementations.
        status == 507
            || ["XMinioStorageFull", "QuotaExceeded", "XMinioAdminBucketQuotaExceeded", "InsufficientStorage"].contains(
                code
            )
    }

    func blobError(of request: S3Request, at authority: String) -> BlobError {
        if isFull { return .noSpace }
        // Errors of the bucket or the access key affect all blobs until an operator fixes them.
        let isOurs = [301, 307, 400, 401, 403].contains(status) || code == "NoSuchBucket"
        guard isOurs || isTransient else { return .failed(request.purpose, code: Int32(status)) }
        return .unavailable("\(authority) answered \(status) \(code) to \"\(request.purpose)\"")
    }
}
