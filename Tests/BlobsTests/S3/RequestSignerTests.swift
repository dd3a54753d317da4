@testable import Blobs
import Foundation
import Testing

/// The examples of Amazon's documentation
/// (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
@Suite("Request signatures of S3") struct RequestSignerTests {
    private static let signer = RequestSigner(
        region: "us-east-1",
        accessKey: "AKIAIOSFODNN7EXAMPLE",
        secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    )
    private static let date = Date(timeIntervalSince1970: 1_369_353_600)

    @Test("A request for a range is signed")
    func range() {
        let signed = request(headers: [("range", "bytes=0-9")], path: "/test.txt")
        #expect(signed.hasSuffix("Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"))
        #expect(
            signed.hasPrefix(
                "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
                    + "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            )
        )
    }

    @Test("A put is signed")
    func put() {
        let signed = request(
            "PUT",
            headers: [("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
            path: "/test%24file.text",
            hash: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
        )
        #expect(signed.hasSuffix("Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"))
    }

    @Test("A query without a value is signed")
    func emptyQueryValue() {
        let signed = request(path: "/", query: [("lifecycle", "")])
        #expect(signed.hasSuffix("Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"))
    }

    @Test("The order of the query does not change the signature")
    func queryOrder() {
        for query in [[("max-keys", "2"), ("prefix", "J")], [("prefix", "J"), ("max-keys", "2")]] {
            let signed = request(path: "/", query: query.map { (name: $0.0, value: $0.1) })
            #expect(signed.hasSuffix("Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"))
        }
    }

    @Test("The query is sorted and percent-encoded")
    func queryEscaping() {
        #expect(RequestSigner.query([("b", "a/b c+d~é"), ("a", "")]) == "a=&b=a%2Fb%20c%2Bd~%C3%A9")
    }

    private func request(
        _ method: String = "GET",
        headers: [(name: String, value: String)] = [],
        path: String,
        query: [(name: String, value: String)] = [],
        hash: String = RequestSigner.emptyHash
    ) -> String {
        let own = [
            (name: "host", value: "examplebucket.s3.amazonaws.com"), (name: "x-amz-content-sha256", value: hash),
            (name: "x-amz-date", value: RequestSigner.moment(Self.date)),
        ]
        return Self.signer.authorization(
            RequestSigner.Signed(method: method, path: path, query: query, headers: headers + own, bodyHash: hash),
            at: Self.date
        )
    }
}
