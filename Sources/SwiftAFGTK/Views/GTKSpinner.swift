#if GTK
    internal import CAFGTK
    public import SwiftAF
    public import SwiftAFImage

    /// A `GtkSpinner` that spins while a task runs, or while there is any network activity.
    ///
    /// ```swift
    /// GTKSpinner.of(spinner).setAnimating(with: task)
    /// GTKSpinner.of(headerSpinner).setAnimating(with: .shared)
    /// ```
    public final class GTKSpinner: GTKView, ActivityIndicating {
        public let taskBindings = TaskBindings()

        override class var type: cafgtk_type { cafgtk_spinner_type() }

        public func startAnimating() {
            if let widget { cafgtk_spinner_start(widget) }
        }

        public func stopAnimating() {
            if let widget { cafgtk_spinner_stop(widget) }
        }

        /// Spins while the manager says that network activity is visible, until a task is bound, and enables the
        /// manager. Replaces a task that the spinner showed, and the manager's `visibilityHandler`. Any number of
        /// spinners can follow the same manager.
        public func setAnimating(with activity: NetworkActivityIndicatorManager) {
            guard widget != nil else { return }
            setAnimating(withStateOf: nil)
            let turn = taskBindings.activityTurn
            ActivityFollowers.of(activity).add(self, turn)
            activity.isEnabled = true
            show(activity.isNetworkActivityIndicatorVisible, of: turn)
        }

        /// Whether the spinner still follows what it began to follow then.
        fileprivate func isFollowing(_ turn: UInt64) -> Bool { taskBindings.activityTurn == turn }

        /// Shows the activity of a manager, unless the spinner follows something else by now.
        fileprivate func show(_ isVisible: Bool, of turn: UInt64) {
            guard isFollowing(turn) else { return }
            taskBindings.showsActivity = isVisible
            if isVisible { startAnimating() } else { stopAnimating() }
        }

        override func cancel() {
            taskBindings.end()
        }
    }

    /// The spinners that follow a manager, whose handler is only one.
    @MainActor
    private final class ActivityFollowers {
        private static var all: [ActivityFollowers] = []
        private weak var activity: NetworkActivityIndicatorManager?
        private var followers: [Follower] = []

        private struct Follower {
            weak var spinner: GTKSpinner?
            let turn: UInt64
        }

        private init(_ activity: NetworkActivityIndicatorManager) {
            self.activity = activity
        }

        static func of(_ activity: NetworkActivityIndicatorManager) -> ActivityFollowers {
            all.removeAll { $0.activity == nil }
            if let found = all.first(where: { $0.activity === activity }) { return found }
            let made = ActivityFollowers(activity)
            all.append(made)
            return made
        }

        func add(_ spinner: GTKSpinner, _ turn: UInt64) {
            followers.removeAll { $0.spinner?.isFollowing($0.turn) != true }
            followers.append(Follower(spinner: spinner, turn: turn))
            // Each time, as the program may have set another handler.
            activity?.visibilityHandler = { [weak self] isVisible in
                Task { @MainActor in self?.show(isVisible) }
            }
        }

        private func show(_ isVisible: Bool) {
            for follower in followers { follower.spinner?.show(isVisible, of: follower.turn) }
        }
    }
#endif
