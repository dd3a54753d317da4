import ChildProcesses
import Foundation
import Glibc

/// Overwrites instructions of a running process, so that it fails as by a defect in its own code.
///
/// A signal from outside is no substitute: the handler that prints backtraces catches it, and the process continues.
enum FaultInjection {
    /// Makes the next iteration of an event loop execute an invalid instruction.
    static func trap(_ process: ProcessIdentity) throws {
        #if arch(x86_64)
        try overwrite("epoll_wait", of: process, with: [0x0F, 0x0B])  // ud2
        #else
        try overwrite("epoll_wait", of: process, with: [0, 0, 0, 0])  // udf #0
        #endif
    }

    /// Makes event loops hang from their next iteration on.
    static func hang(_ process: ProcessIdentity) throws {
        #if arch(x86_64)
        // mov eax, 34 (pause); syscall; jmp back
        try overwrite("epoll_wait", of: process, with: [0xB8, 34, 0, 0, 0, 0x0F, 0x05, 0xEB, 0xF7])
        #else
        try overwrite("epoll_wait", of: process, with: [0, 0, 0, 0x14])  // b .
        #endif
    }

    private static func overwrite(_ function: String, of process: ProcessIdentity, with code: [UInt8]) throws {
        guard let own = dlsym(nil, function), let ownBase = libraryBase("self"),
            let base = libraryBase("\(process.pid)")
        else {
            throw SuiteError("there is no \(function) in process \(process.pid)")
        }
        let memory = open("/proc/\(process.pid)/mem", O_WRONLY | O_CLOEXEC)
        guard memory >= 0 else { throw SuiteError("process \(process.pid) cannot be written to: \(errno)") }
        defer { close(memory) }
        let address = Int(bitPattern: own) - ownBase + base
        guard pwrite(memory, code, code.count, off_t(address)) == code.count else {
            throw SuiteError("process \(process.pid) cannot be written to: \(errno)")
        }
    }

    /// Returns the address at which the C library begins in a process.
    private static func libraryBase(_ process: String) -> Int? {
        // Such a file has a reported size of 0, and `String(contentsOfFile:)` stops after 4 kB.
        let map = FileHandle(forReadingAtPath: "/proc/\(process)/maps")?.readDataToEndOfFile()
        let line = map.map { String(decoding: $0, as: UTF8.self) }?.split(separator: "\n").first { line in
            let fields = line.split(separator: " ")
            return fields.count > 5 && fields[2] == "00000000" && fields[5].hasSuffix("/libc.so.6")
        }
        return line?.split(separator: "-").first.flatMap { Int($0, radix: 16) }
    }
}
