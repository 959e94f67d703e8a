internal import CAFCore
import Dispatch
import FoundationEssentials
import Glibc

/// Writes a form to a file, on a queue of its own. Doesn't block a thread while it waits for the form's streams.
final class CoreFormSpool: Sendable {
    /// The number of bytes that are written between two checks for cancellation.
    private static let bytesAtOnce = 4 * 1024 * 1024
    /// The number of attempts to find an unused file name; usually the first one succeeds.
    private static let nameAttempts = 16

    private let wakeUp = OneValueChannel<Void>()
    private let queue = DispatchQueue(label: "swiftaf.form-spool")

    private init() {}

    /// Writes the form to a file next to `path` and renames it when it is complete. Until then, and on failure, an
    /// existing file is left unchanged.
    static func write(_ form: BodyForm, to path: String) async throws(SessionError) {
        if let fault = path.pathFault("the path of the form's file") {
            throw SessionError(.invalidInput, message: fault)
        }
        let spool = CoreFormSpool()
        let (partial, descriptor) = try create(beside: path)
        do throws(SessionError) {
            do throws(SessionError) {
                try await spool.write(form, to: descriptor)
            } catch {
                close(descriptor)
                throw error
            }
            // With quotas and network file systems, close() can be the call that reports a failed write.
            guard close(descriptor) == 0 else { throw failure("cannot write", path) }
        } catch {
            unlink(partial)
            throw error
        }
        guard rename(partial, path) == 0 else {
            let error = failure("cannot create", path)
            unlink(partial)
            throw error
        }
    }

    /// Creates a file with a random name. A name made from the process id could exist already: process ids repeat, for
    /// example in containers, and a killed process may have left its file behind.
    private static func create(beside path: String) throws(SessionError) -> (path: String, descriptor: Int32) {
        var attempts = 0
        while true {
            let partial = "\(path).\(String(UInt64.random(in: .min ... .max), radix: 16)).part"
            let descriptor = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
            if descriptor >= 0 { return (partial, descriptor) }
            attempts += 1
            guard errno == EEXIST, attempts < nameAttempts else { throw failure("cannot create", partial) }
        }
    }

    private func write(_ form: BodyForm, to descriptor: Int32) async throws(SessionError) {
        var form = form
        form.throttle = nil
        var streams: [CoreStreamSource] = []
        let core = try CoreForm(form) { [wakeUp] stream in
            let source = CoreStreamSource(stream) { _ in wakeUp.send() }
            streams.append(source)
            return afc_reader(source)
        }
        let step = Step(form: core)
        while true {
            guard !Task.isCancelled else { throw SessionError(.cancelled) }
            let (count, failure) = await step.run(on: queue, descriptor)
            switch count {
            case AFC_READ_END:
                // A stream of known length may still yield more bytes, which is an error. Only its end shows that it
                // doesn't.
                while !streams.allSatisfy(\.hasEnded) {
                    guard !Task.isCancelled else { throw SessionError(.cancelled) }
                    await waitForNotice()
                }
                if let cause = streams.lazy.compactMap(\.failure).first {
                    throw SessionError(.bodySource).causedByBody(cause)
                }
                return
            case AFC_READ_AGAIN:
                await waitForNotice()
            case AFC_READ_FAILED:
                let error = SessionError(failure)
                let cause = streams.lazy.compactMap(\.failure).first
                throw cause.map { error.replacing(by: $0) } ?? error
            default:
                break
            }
        }
    }

    private func waitForNotice() async {
        await withTaskCancellationHandler {
            await wakeUp.wait()
        } onCancel: {
            wakeUp.send()
        }
    }

    /// The write of a number of bytes. It runs on the queue while the form's owner waits, so only one thread uses the
    /// form.
    private struct Step: @unchecked Sendable {
        let form: CoreForm

        func run(on queue: DispatchQueue, _ descriptor: Int32) async -> (count: Int, failure: afc_failure) {
            await withCheckedContinuation { continuation in
                queue.async {
                    var failure = afc_failure()
                    let count = form.write(CoreFormSpool.bytesAtOnce, to: descriptor, &failure)
                    continuation.resume(returning: (count, failure))
                }
            }
        }
    }

    private static func failure(_ what: String, _ path: String) -> SessionError {
        let code = errno
        var error = SessionError(.file, message: "\(what) \(path): \(String(cString: strerror(code)))")
        error.systemError = code
        return error
    }
}
