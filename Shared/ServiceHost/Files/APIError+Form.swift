package import Multipart
package import Wire

extension APIError {
    /// The error for a multipart form that cannot be parsed.
    package init(form error: MultipartError) {
        switch error {
        case .malformed(let reason): self.init(.invalid, "malformed_body", "the multipart form is malformed: \(reason)")
        case .truncated: self.init(.invalid, "incomplete_body", "the multipart form is incomplete")
        case .tooManyParts(let limit): self.init(.invalid, "too_many_parts", "a form may have at most \(limit) parts")
        case .headerTooLarge(let limit):
            self.init(.invalid, "part_header_too_large", "the header of a part may have at most \(limit) bytes")
        }
    }
}
