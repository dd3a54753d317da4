import NIOCore

/// The SMTP dialog with one client, line by line, as strict as RFC 5321 allows.
struct SMTPSession {
    enum Step {
        case reply(String)
        /// Replies, then starts TLS.
        case encrypt(String)
        /// Replies, then closes the connection.
        case close(String)
        case noReply
        /// Closes the connection without a reply.
        case reset
    }

    private enum State {
        case connected, greeted, signedIn
        case sender(String)
        case receiver(sender: String, receiver: String)
        case content(sender: String, receiver: String)
    }

    /// The maximum size of a mail in bytes, announced with `SIZE`.
    static let maximumSize = 1_048_576
    /// The maximum line lengths in bytes (RFC 5321, section 4.5.3.1).
    static let maximumCommand = 512
    static let maximumTextLine = 1_000

    let mailbox: Mailbox
    let logins: SMTPLogins
    let script: Script
    private(set) var isEncrypted = false
    private var state = State.connected
    private var lines: [String] = []
    private var size = 0
    private var rule: ScriptRule?

    init(mailbox: Mailbox, logins: SMTPLogins, script: Script) {
        self.mailbox = mailbox
        self.logins = logins
        self.script = script
    }

    static let greeting = "220 sandbox.example ESMTP"

    var limit: Int {
        if case .content = state { Self.maximumTextLine } else { Self.maximumCommand }
    }

    /// Discards the state from before TLS (RFC 3207, section 4.2).
    mutating func beginEncryption() {
        self = SMTPSession(mailbox: mailbox, logins: logins, script: script)
        isEncrypted = true
    }

    /// Processes a line without its line end.
    mutating func process(_ line: String) -> Step {
        if case .content(let sender, let receiver) = state { return content(line, sender, receiver) }
        let verb = line.prefix { $0 != " " }.uppercased()
        let rest = line.dropFirst(verb.count).drop { $0 == " " }
        switch verb {
        case "EHLO": return greet(String(rest))
        case "HELO": return .reply("502 5.5.1 use EHLO")
        case "NOOP": return .reply("250 2.0.0 ok")
        case "QUIT": return .close("221 2.0.0 bye")
        case "RSET":
            if isSignedIn { state = .signedIn }
            return .reply("250 2.0.0 ok")
        case "STARTTLS":
            guard !isEncrypted, case .greeted = state else { return .reply("503 5.5.1 bad sequence of commands") }
            return .encrypt("220 2.0.0 ready to start TLS")
        case "AUTH": return signIn(rest)
        case "MAIL": return sender(line)
        case "RCPT": return receiver(line)
        case "DATA":
            guard case .receiver(let sender, let receiver) = state else {
                return .reply("503 5.5.1 bad sequence of commands")
            }
            state = .content(sender: sender, receiver: receiver)
            (lines, size) = ([], 0)
            return .reply("354 end the mail with a line that contains only a dot")
        default: return .reply("500 5.5.2 unknown command")
        }
    }

    private var isSignedIn: Bool {
        switch state {
        case .connected, .greeted: false
        case .signedIn, .sender, .receiver, .content: true
        }
    }

    private mutating func greet(_ name: String) -> Step {
        let isLiteral = name.hasPrefix("[") && name.hasSuffix("]")
        guard isLiteral || (!name.isEmpty && name.utf8.allSatisfy(Self.isNameByte)) else {
            return .reply("501 5.5.4 EHLO requires a host name or an address in brackets")
        }
        state = .greeted
        let offers = isEncrypted ? ["AUTH PLAIN"] : ["STARTTLS"]
        let all =
            ["sandbox.example", "SIZE \(Self.maximumSize)", "SMTPUTF8", "8BITMIME", "ENHANCEDSTATUSCODES"] + offers
        return .reply(all.enumerated().map { "250\($0 == all.count - 1 ? " " : "-")\($1)" }.joined(separator: "\r\n"))
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
    }

    private mutating func signIn(_ text: Substring) -> Step {
        guard isEncrypted else { return .reply("530 5.7.0 STARTTLS is required first") }
        guard case .greeted = state else { return .reply("503 5.5.1 bad sequence of commands") }
        let words = text.split(separator: " ")
        guard words.count == 2, words[0].uppercased() == "PLAIN" else {
            return .reply("504 5.5.4 only AUTH PLAIN with an initial response is supported")
        }
        guard logins.isValid(plain: words[1]) else { return .reply("535 5.7.8 the user name or password is wrong") }
        state = .signedIn
        return .reply("235 2.7.0 welcome")
    }

    private mutating func sender(_ line: String) -> Step {
        guard isEncrypted else { return .reply("530 5.7.0 STARTTLS is required first") }
        guard isSignedIn else { return .reply("530 5.7.0 authentication is required") }
        guard case .signedIn = state else { return .reply("503 5.5.1 bad sequence of commands") }
        guard let (address, parameters) = Self.path(line, after: "MAIL FROM:") else {
            return .reply("501 5.5.4 the syntax is MAIL FROM:<address>")
        }
        for parameter in parameters {
            let pair = parameter.uppercased().split(separator: "=")
            switch pair.first {
            case "SIZE" where pair.count == 2:
                guard let size = Int(pair[1]), size <= Self.maximumSize else { return .reply("552 5.3.4 too large") }
            case "SMTPUTF8" where pair.count == 1, "BODY" where pair.count == 2: break
            default: return .reply("555 5.5.4 unknown parameter")
            }
        }
        guard parameters.contains("SMTPUTF8") || address.utf8.allSatisfy({ $0 < 0x80 }) else {
            return .reply("550 5.6.7 the address requires the parameter SMTPUTF8")
        }
        state = .sender(address)
        return .reply("250 2.1.0 ok")
    }

    private mutating func receiver(_ line: String) -> Step {
        switch state {
        case .sender(let sender):
            guard let (address, parameters) = Self.path(line, after: "RCPT TO:"), parameters.isEmpty else {
                return .reply("501 5.5.4 the syntax is RCPT TO:<address>")
            }
            rule = script.follow(.smtp, token: address)
            if let step = scriptedReply() { return step }
            guard !address.hasPrefix("nobody@") else { return .reply("550 5.1.1 no mailbox has this name") }
            state = .receiver(sender: sender, receiver: address)
            return .reply("250 2.1.5 ok")
        case .receiver: return .reply("452 4.5.3 only one receiver per mail is supported")
        default: return .reply("503 5.5.1 bad sequence of commands")
        }
    }

    /// Returns the reaction that the script rule demands instead of accepting the receiver.
    private func scriptedReply() -> Step? {
        guard let rule, !rule.isLenient, rule.accepts != true else { return nil }
        switch rule.behaviour {
        case .silence: return .noReply
        case .response: return .reply("\(rule.status ?? 550) \(rule.reason ?? "5.7.1 rejected by a script rule")")
        default: return .reset
        }
    }

    private mutating func content(_ line: String, _ sender: String, _ receiver: String) -> Step {
        guard line == "." else {
            size += line.utf8.count + 2
            // Lines beyond the size limit are counted but not stored.
            if size <= Self.maximumSize { lines.append(line.hasPrefix(".") ? String(line.dropFirst()) : line) }
            return .noReply
        }
        state = .signedIn
        guard size <= Self.maximumSize else { return .reply("552 5.3.4 too large") }
        let raw = lines.map { "\($0)\r\n" }.joined()
        lines = []
        do {
            let content = try EmailContent(raw, sender: sender, receiver: receiver)
            mailbox.add(content, raw: raw, from: sender, to: receiver)
        } catch let violation as EmailContent.Violation {
            return .reply("554 \(violation.text)")
        } catch {
            return .reply("451 4.3.0 internal error")
        }
        // The mail is stored, but a script rule may lose the reply.
        switch rule?.accepts == true ? rule?.behaviour : nil {
        case .silence: return .noReply
        case .reset: return .reset
        default: return .reply("250 2.0.0 accepted")
        }
    }

    /// Returns the address in angle brackets and the parameters after it.
    private static func path(_ line: String, after command: String) -> (String, [String])? {
        guard line.uppercased().hasPrefix(command) else { return nil }
        let rest = line.dropFirst(command.count)
        guard rest.first == "<", let end = rest.lastIndex(of: ">") else { return nil }
        let address = rest[rest.index(after: rest.startIndex)..<end]
        let behind = rest[rest.index(after: end)...]
        guard behind.isEmpty || behind.first == " ", let at = address.lastIndex(of: "@"), at > address.startIndex,
            address.index(after: at) < address.endIndex, !address.contains("<"), !address.contains(">")
        else { return nil }
        return (String(address), behind.split(separator: " ").map(String.init))
    }
}
