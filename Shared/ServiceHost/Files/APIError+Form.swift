package import Multipart
package import Wire

extension APIError {
    /// What a form that cannot be read is refused with.
    package init(form error: MultipartError) {
        switch error {
        case .malformed(let what): self.init(.invalid, "malformed_body", "the form cannot be read: \(what)")
        case .truncated: self.init(.invalid, "incomplete_body", "the form ends before its end")
        case .tooManyParts(let limit): self.init(.invalid, "too_many_parts", "a form may have \(limit) parts")
        case .headerTooLarge(let limit):
            self.init(.invalid, "part_header_too_large", "the header of a part may have \(limit) bytes")
        }
    }
}
