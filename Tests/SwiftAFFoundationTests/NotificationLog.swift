import Dispatch
import Foundation
import SwiftAF

/// What was posted about an object, in order.
final class NotificationLog: Sendable {
    struct Entry: @unchecked Sendable {
        let name: Notification.Name
        /// Made anew for every notification, and only read.
        let userInfo: [String: Any]
        let isOnMainQueue: Bool
    }

    /// Set once: setting it anew would free what another thread reads of it at that moment.
    private static let mainKey = {
        let key = DispatchSpecificKey<Void>()
        DispatchQueue.main.setSpecific(key: key, value: ())
        return key
    }()

    private let entries: AsyncStream<Entry>
    private let continuation: AsyncStream<Entry>.Continuation
    private let names = Locked<[String]>([])
    private let tokens = Locked<[Token]>([])

    init() {
        _ = Self.mainKey
        (entries, continuation) = AsyncStream.makeStream()
    }

    convenience init(_ names: [Notification.Name], of object: (any AnyObject & Sendable)?) {
        self.init()
        observe(names, of: object)
    }

    /// - Parameter object: Nil for notifications about anything; those of tests that run beside this one too.
    func observe(_ names: [Notification.Name], of object: (any AnyObject & Sendable)?) {
        for name in names {
            let token = NotificationCenter.default.addObserver(forName: name, object: object, queue: nil) {
                [weak self] notification in self?.add(notification)
            }
            tokens.withLock { $0.append(Token(token: token)) }
        }
    }

    deinit {
        for token in tokens.withLock({ $0 }) { NotificationCenter.default.removeObserver(token.token) }
    }

    /// The names so far, and whatever else was noted.
    var history: [String] { names.withLock { $0 } }

    func note(_ text: String) {
        names.withLock { $0.append(text) }
    }

    /// Waits for so many notifications.
    func next(_ count: Int = 1) async -> [Entry] {
        var result: [Entry] = []
        for await entry in entries {
            result.append(entry)
            if result.count == count { break }
        }
        return result
    }

    private func add(_ notification: Notification) {
        let info = notification.userInfo as? [String: Any] ?? [:]
        note(notification.name.rawValue)
        let isOnMainQueue = DispatchQueue.getSpecific(key: Self.mainKey) != nil
        continuation.yield(Entry(name: notification.name, userInfo: info, isOnMainQueue: isOnMainQueue))
    }

    /// Handed from the initializer to the end, under the lock.
    private struct Token: @unchecked Sendable {
        let token: any NSObjectProtocol
    }
}
