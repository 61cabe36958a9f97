package tutti.model;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The lock manager of a modelled database (D5.1, section 2.3.2): by key, without values.
 *
 * <p>
 * A transaction asks for all its locks at once and gets all or waits for all, so there are no deadlocks; or it asks for one after the
 * other, as a database does statement by statement, always in one order of rows that all transactions keep to, so that there
 * are none either. Under the
 * <i>timestamp</i> policy only rows that are written are locked, and who waits for a lock whose holder commits is
 * {@linkplain LockHolder#overtaken overtaken}: first updater wins. Under <i>locking</i> (strict two-phase) rows that are read
 * are locked as well, shared, and who waits goes on waiting.
 *
 * <p>
 * What has a place in the order never gives way to what has none. It takes its locks one by one, in the order of places:
 * from holders without a place at once, from those with an earlier one when they are released. So it waits for earlier
 * places only, and there are no deadlocks here either.
 *
 * <p>
 * <b>Why no update is lost under the timestamp policy.</b> A transaction has its snapshot when it asks. From then on it is
 * either in possession of all its rows, or it is on the list of each of them: whoever commits a write to one of them either
 * took the row from it, or finds it on the list. One that asks for one row after the other has its snapshot before it asks for the
 * first; what has been committed since is remembered by row for as long as somebody has an older snapshot, and looked at when
 * it asks.
 */
final class LockTable {
    /** What came of asking for one more row. */
    enum Step {
        /** It is locked now. */
        LOCKED,
        /** Somebody else has it. */
        WAITS,
        /** It has been changed since the snapshot. */
        CHANGED
    }

    /** A row that was changed, and when. */
    private record Change(long row, long at) {}

    /** A row that somebody waits for, or shares. */
    private static final class Lock {
        @Nullable
        LockHolder holder;
        final List<LockHolder> sharers = new ArrayList<>(0);
        final ArrayDeque<LockHolder> queue = new ArrayDeque<>(2);
        final List<LockHolder> waiting = new ArrayList<>(2);

        boolean isIdle() {
            return holder == null && sharers.isEmpty() && queue.isEmpty() && waiting.isEmpty();
        }
    }

    private final boolean timestamps;
    /** By row: its only holder, or a Lock. */
    private final LongMap<Object> rows = new LongMap<>();
    private int waiters;
    private long requests;
    /** Those that lock rows one by one, the oldest snapshot first. */
    private final LinkedHashSet<LockHolder> snapshots = new LinkedHashSet<>();
    /** By row, when it was changed last; what nobody with a snapshot can meet is not there. */
    private final Map<Long, Long> changed = new HashMap<>();
    private final ArrayDeque<Change> changes = new ArrayDeque<>();
    private long commits;

    /** @param timestamps whether the policy is that of timestamps, not two-phase locking */
    LockTable(boolean timestamps) {
        this.timestamps = timestamps;
    }

    /** Transactions that wait for locks. */
    int waiters() {
        return waiters;
    }

    /** Locks asked for so far. */
    long requests() {
        return requests;
    }

    /**
     * Asks for all locks of a transaction that has no place in the order.
     *
     * @return whether it has them; otherwise it waits
     */
    boolean acquire(LockHolder asking) {
        requests += asking.exclusive.length + asking.shared.length;
        return acquireOrWait(asking);
    }

    /** A transaction takes its snapshot, if it has one, and will lock its rows one by one. */
    void begin(LockHolder stepping) {
        stepping.reached = 0;
        if (stepping.isBoundToSnapshot()) {
            stepping.snapshot = commits;
            snapshots.add(stepping);
        } else {
            stepping.snapshot = Long.MAX_VALUE;
        }
    }

    /** Asks for the next row of a transaction that locks them one by one. */
    Step acquireNext(LockHolder asking) {
        requests++;
        return step(asking);
    }

    private Step step(LockHolder asking) {
        long row = asking.exclusive[asking.reached];
        if (timestamps && changed.getOrDefault(row, Long.MIN_VALUE) > asking.snapshot) {
            return Step.CHANGED;
        }
        // Whoever waited for one that is pushed aside may get the row first, and is pushed aside in turn.
        for (LockHolder holder = holder(row); holder != null && asking.pushesAside() && !holder.decided
                && !holder.pushesAside(); holder = holder(row)) {
            release(holder, false);
            holder.pushedAside();
        }
        Object there = rows.get(row);
        if (there == null) {
            rows.put(row, asking);
        } else if (there instanceof Lock lock && lock.holder == null && lock.queue.isEmpty()
                && lock.sharers.isEmpty()) {
            lock.holder = asking;
        } else {
            asking.waiting = true;
            waiters++;
            lock(row).waiting.add(asking);
            return Step.WAITS;
        }
        asking.reached++;
        return Step.LOCKED;
    }

    private void noteChanges(LockHolder committed) {
        commits++;
        if (snapshots.isEmpty()) {
            changed.clear();
            changes.clear();
            return;
        }
        for (long row : committed.exclusive) {
            changed.put(row, commits);
            changes.add(new Change(row, commits));
        }
        long oldest = snapshots.getFirst().snapshot;
        for (Change first = changes.peek(); first != null && first.at <= oldest; first = changes.peek()) {
            changed.remove(first.row, first.at);
            changes.remove();
        }
    }

    private boolean acquireOrWait(LockHolder asking) {
        // Whoever waited for one that is pushed aside may get its locks first, and is pushed aside in turn.
        while (asking.pushesAside() && pushAside(asking)) {
            requests++;
        }
        if (isBlocked(asking)) {
            asking.waiting = true;
            waiters++;
            for (long row : asking.exclusive) {
                lock(row).waiting.add(asking);
            }
            for (long row : asking.shared) {
                lock(row).waiting.add(asking);
            }
            return false;
        }
        for (long row : asking.exclusive) {
            if (rows.get(row) instanceof Lock lock) {
                lock.holder = asking;
            } else {
                rows.put(row, asking);
            }
        }
        for (long row : asking.shared) {
            lock(row).sharers.add(asking);
        }
        return true;
    }

    private boolean isBlocked(LockHolder asking) {
        for (long row : asking.exclusive) {
            Object there = rows.get(row);
            if (there instanceof LockHolder || (there instanceof Lock lock
                    && (lock.holder != null || !lock.queue.isEmpty() || !lock.sharers.isEmpty()))) {
                return true;
            }
        }
        for (long row : asking.shared) {
            Object there = rows.get(row);
            if (there instanceof LockHolder
                    || (there instanceof Lock lock && (lock.holder != null || !lock.queue.isEmpty()))) {
                return true;
            }
        }
        return false;
    }

    private boolean pushAside(LockHolder asking) {
        Set<LockHolder> aside = new LinkedHashSet<>();
        for (long row : asking.exclusive) {
            Object there = rows.get(row);
            if (there instanceof LockHolder holder && !holder.decided) {
                aside.add(holder);
            } else if (there instanceof Lock lock) {
                if (lock.holder != null && !lock.holder.decided) {
                    aside.add(lock.holder);
                }
                lock.sharers.stream().filter(sharer -> !sharer.decided).forEach(aside::add);
            }
        }
        for (long row : asking.shared) {
            LockHolder holder = holder(row);
            if (holder != null && !holder.decided) {
                aside.add(holder);
            }
        }
        aside.removeIf(LockHolder::pushesAside);
        for (LockHolder one : aside) {
            release(one, false);
            one.pushedAside();
        }
        return !aside.isEmpty();
    }

    /** Who holds what somebody waits for. */
    Set<LockHolder> inTheWay(LockHolder waiter) {
        Set<LockHolder> holders = new LinkedHashSet<>();
        for (int i = waiter.isStepwise() ? waiter.reached : 0; i < wants(waiter); i++) {
            Object there = rows.get(waiter.exclusive[i]);
            if (there instanceof LockHolder holder) {
                holders.add(holder);
            } else if (there instanceof Lock lock) {
                if (lock.holder != null) {
                    holders.add(lock.holder);
                }
                holders.addAll(lock.sharers);
            }
        }
        for (long row : waiter.shared) {
            LockHolder holder = holder(row);
            if (holder != null) {
                holders.add(holder);
            }
        }
        holders.remove(waiter);
        return holders;
    }

    /** Up to which of its rows it holds locks or waits for them. */
    private static int wants(LockHolder holder) {
        return !holder.isStepwise() ? holder.exclusive.length : holder.reached + (holder.waiting ? 1 : 0);
    }

    /** Who has a row for itself. */
    private @Nullable LockHolder holder(long row) {
        Object there = rows.get(row);
        return there instanceof Lock lock ? lock.holder : (LockHolder) there;
    }

    private Lock lock(long row) {
        Object there = rows.get(row);
        if (there instanceof Lock lock) {
            return lock;
        }
        Lock lock = new Lock();
        lock.holder = (LockHolder) there;
        rows.put(row, lock);
        return lock;
    }

    /** A transaction that holds its locks has got its place in the order. */
    void decide(LockHolder holding) {
        holding.decided = true;
        snapshots.remove(holding);
    }

    /**
     * Asks for the locks of what has got its place in the order, and holds none; in order of places. It shares none.
     *
     * @return whether it has them; otherwise it is told
     */
    boolean claim(LockHolder claiming) {
        claiming.decided = true;
        requests += claiming.exclusive.length;
        Set<LockHolder> aside = null;
        for (long row : claiming.exclusive) {
            Object there = rows.get(row);
            if (there == null) {
                rows.put(row, claiming);
                continue;
            }
            if (there instanceof LockHolder holder && !holder.decided) {
                rows.put(row, claiming);
                aside = aside == null ? new LinkedHashSet<>() : aside;
                aside.add(holder);
                continue;
            }
            Lock lock = lock(row);
            if (lock.holder != null && !lock.holder.decided) {
                aside = aside == null ? new LinkedHashSet<>() : aside;
                aside.add(lock.holder);
                lock.holder = null;
            }
            for (LockHolder sharer : List.copyOf(lock.sharers)) {
                if (!sharer.decided) {
                    aside = aside == null ? new LinkedHashSet<>() : aside;
                    aside.add(sharer);
                    lock.sharers.remove(sharer);
                }
            }
            if (lock.holder == null && lock.queue.isEmpty() && lock.sharers.isEmpty()) {
                lock.holder = claiming;
            } else {
                lock.queue.add(claiming);
                claiming.blockers++;
            }
        }
        if (aside != null) {
            for (LockHolder one : aside) {
                release(one, false);
                one.pushedAside();
            }
        }
        return claiming.blockers == 0;
    }

    /** Gives up waiting; without effect if it does not. */
    private void giveUp(LockHolder waiter) {
        if (!waiter.waiting) {
            return;
        }
        int end = wants(waiter);
        waiter.waiting = false;
        waiters--;
        for (int i = waiter.isStepwise() ? waiter.reached : 0; i < end; i++) {
            leave(waiter.exclusive[i], waiter);
        }
        for (long row : waiter.shared) {
            leave(row, waiter);
        }
    }

    private void leave(long row, LockHolder waiter) {
        if (rows.get(row) instanceof Lock lock) {
            lock.waiting.remove(waiter);
            if (lock.isIdle()) {
                rows.remove(row);
            }
        }
    }

    /**
     * Releases all locks at once, and gives up waiting.
     *
     * @param committed whether it has changed the rows for good
     */
    void release(LockHolder holder, boolean committed) {
        if (holder.waiting) {
            giveUp(holder);
            if (!holder.isStepwise()) {
                return;
            }
        }
        if (committed) {
            noteChanges(holder);
        }
        int end = wants(holder);
        if (holder.isStepwise()) {
            snapshots.remove(holder);
            holder.reached = 0;
        }
        List<LockHolder> granted = new ArrayList<>(0);
        Set<LockHolder> next = new LinkedHashSet<>(0);
        for (int i = 0; i < end; i++) {
            long row = holder.exclusive[i];
            Object there = rows.get(row);
            if (holder.equals(there)) {
                rows.remove(row);
            } else if (there instanceof Lock lock && holder.equals(lock.holder)) {
                lock.holder = null;
                passOn(row, lock, granted, next);
            }
        }
        for (long row : holder.shared) {
            if (rows.get(row) instanceof Lock lock && lock.sharers.remove(holder)) {
                passOn(row, lock, granted, next);
            }
        }
        for (LockHolder one : granted) {
            one.acquired();
        }
        for (LockHolder one : next) {
            if (!one.waiting) {
                continue;
            }
            giveUp(one);
            if (committed && timestamps && one.isBoundToSnapshot()) {
                overtake(one);
            } else if (one.isStepwise()) {
                switch (step(one)) {
                    case LOCKED -> one.acquired();
                    case CHANGED -> overtake(one);
                    case WAITS -> {
                        // For another one than before.
                    }
                }
            } else if (acquireOrWait(one)) {
                one.acquired();
            }
        }
    }

    private void overtake(LockHolder one) {
        if (one.isStepwise()) {
            release(one, false);
        }
        one.overtaken();
    }

    private void passOn(long row, Lock lock, List<LockHolder> granted, Set<LockHolder> next) {
        if (lock.holder == null && lock.sharers.isEmpty()) {
            LockHolder first = lock.queue.poll();
            if (first != null) {
                lock.holder = first;
                if (--first.blockers == 0) {
                    granted.add(first);
                }
            }
        }
        next.addAll(lock.waiting);
        if (lock.isIdle()) {
            rows.remove(row);
        }
    }
}
