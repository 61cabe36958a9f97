package tutti.grid.node;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.check.history.History;
import tutti.check.history.HistoryRecorder;
import tutti.check.isolation.Isolation;
import tutti.check.isolation.IsolationCheck;
import tutti.core.txn.TransactionId;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.commit.CommitRequest;
import tutti.grid.store.Key;
import tutti.grid.store.Owners;
import tutti.grid.store.Version;

/** What was told of a grid, simulated or real, and what is wrong with it at the level that it promises. What was applied is told before it is read. */
final class GridHistory implements Witness {
    private static final long INITIAL = 0;

    private final IsolationLevel level;
    private final HistoryRecorder recorder = new HistoryRecorder();
    private final Map<Long, TransactionId> byStamp = new HashMap<>();
    /** By key and stamp. */
    private final Map<Key, TreeMap<Long, CommitRequest.Write>> versions = new HashMap<>();
    private final Map<TransactionId, CommitRequest> applied = new LinkedHashMap<>();
    private final Map<TransactionId, Long> stamps = new HashMap<>();
    private final Map<TransactionId, Begun> open = new HashMap<>();
    private final Map<TransactionId, GridException.Reason> failed = new HashMap<>();
    private final List<CheckedWrite> checkedWrites = new ArrayList<>();
    private final List<SnapshotRead> snapshotReads = new ArrayList<>();
    private final List<String> failures = new ArrayList<>();
    private int committed;
    private int conflicts;
    private int others;
    private int gone;

    /** A transaction that has not ended. */
    private record Begun(long begin, long timeMillis, boolean readOnly, Map<Key, Long> read, Set<Key> written) {}

    /** A transaction has read a version of a key and written the key. */
    private record CheckedWrite(TransactionId id, Key key, long read) {}

    /** A read-only transaction has read a version of a key: that of its snapshot, at any level. */
    private record SnapshotRead(TransactionId id, Key key, long begin, long read) {}

    GridHistory(IsolationLevel level) {
        this.level = level;
    }

    @Override
    public void applied(TransactionId id, long stamp, CommitRequest request) {
        byStamp.put(stamp, id);
        request.writes().forEach(write -> {
            versions.computeIfAbsent(write.key(), _ -> new TreeMap<>()).put(stamp, write);
            recorder.write(id, write.key().hash());
        });
        applied.put(id, request);
        Long before = stamps.putIfAbsent(id, stamp);
        if (before != null && before != stamp) {
            failures.add(id + " was applied at " + stamp + " and at " + before);
        } else {
            recorder.committed(id, stamp);
        }
    }

    @Override
    public void begun(TransactionId id, int session, long nanos, long begin, long timeMillis, boolean readOnly) {
        recorder.begun(id, session, nanos);
        open.put(id, new Begun(begin, timeMillis, readOnly, new HashMap<>(), new HashSet<>()));
    }

    private Begun of(TransactionId id) {
        return Objects.requireNonNull(open.get(id));
    }

    @Override
    public void wrote(TransactionId id, Key key) {
        of(id).written.add(key);
        recorder.write(id, key.hash());
    }

    @Override
    public void found(TransactionId id, List<Key> keys) {
        Begun transaction = of(id);
        Set<Key> expected = new HashSet<>();
        versions.forEach((key, all) -> {
            var newest = all.floorEntry(transaction.begin);
            if (newest != null && isThere(newest.getValue(), transaction)) {
                expected.add(key);
            }
        });
        if (!expected.equals(Set.copyOf(keys))) {
            failures.add(id + " has found keys " + keys + " instead of " + expected);
        }
    }

    @Override
    public void read(TransactionId id, Key key, long stamp, boolean isThere) {
        Begun reader = of(id);
        Long before = reader.read.putIfAbsent(key, stamp);
        boolean repeats = level != IsolationLevel.READ_COMMITTED || reader.readOnly;
        if (repeats && before != null && before != stamp) {
            failures.add("unrepeatable read of " + key + " by " + id);
        }
        CommitRequest.Write seen = versions.getOrDefault(key, new TreeMap<>()).get(stamp);
        if (seen != null && isThere != isThere(seen, reader)) {
            failures.add(id + " of time " + reader.timeMillis + " has " + (isThere ? "" : "not ") + "found " + seen);
        }
        gone += seen != null && seen.value() != null && !isThere ? 1 : 0;
        TransactionId writer = byStamp.get(stamp == INITIAL ? dropped(key, reader) : stamp);
        if (writer == null && stamp != INITIAL) {
            failures.add(id + " has read a version of " + key + " that nobody has applied");
        }
        recorder.read(id, key.hash(), writer);
        if (reader.readOnly) {
            snapshotReads.add(
                    new SnapshotRead(id, key, reader.begin, stamp == INITIAL ? dropped(key, reader) : stamp));
        }
    }

    private static boolean isThere(CommitRequest.Write version, Begun at) {
        return version.value() != null && version.expiryMillis() > at.timeMillis;
    }

    /** The newest version that a transaction can see, if it is a removal or has expired for it, and may have been dropped; otherwise 0. */
    private long dropped(Key key, Begun reader) {
        Map.Entry<Long, CommitRequest.Write> newest = versions.getOrDefault(key, new TreeMap<>())
                .floorEntry(reader.begin);
        return newest != null && !isThere(newest.getValue(), reader) ? newest.getKey() : INITIAL;
    }

    @Override
    public void ended(TransactionId id, long nanos, long stamp, GridException.@Nullable Reason why) {
        Begun transaction = of(id);
        open.remove(id);
        if (why == null) {
            committed++;
            recorder.answered(id, nanos, History.Answer.COMMITTED);
            if (!transaction.written.isEmpty()) {
                recorder.committed(id, stamp);
                transaction.read.forEach((key, version) -> {
                    if (transaction.written.contains(key)) {
                        checkedWrites.add(new CheckedWrite(id, key,
                                version == INITIAL ? dropped(key, transaction) : version));
                    }
                });
            }
            return;
        }
        switch (why) {
            case CONFLICT, DEADLOCK, LOCK_TIMEOUT -> {
                conflicts++;
                failed.put(id, why);
                recorder.answered(id, nanos, History.Answer.ABORTED);
            }
            default -> {
                others++;
                recorder.answered(id, nanos, History.Answer.NONE);
            }
        }
    }

    /** How many have committed. */
    int committed() {
        return committed;
    }

    /** How many have lost against others. */
    int conflicts() {
        return conflicts;
    }

    /** How many have failed otherwise. */
    int others() {
        return others;
    }

    /** How many reads have found what has expired for them. */
    int gone() {
        return gone;
    }

    /** What was seen to be wrong so far. */
    List<String> failures() {
        return failures;
    }

    /** The newest version of a key at a node, which may have dropped it. */
    interface Newest {
        long at(int node, Key key);
    }

    /** Owners that are left have the same, and nothing that was applied anywhere is missing. Looks at all keys that were written. */
    List<String> owners(Set<Integer> left, Owners owners, Newest there) {
        List<String> wrong = new ArrayList<>();
        versions.forEach((key, all) -> {
            long stamp = all.lastKey();
            CommitRequest.Write written = all.lastEntry().getValue();
            // What expires has by now, and must have been dropped; removals may have been.
            boolean expires = written.value() != null && written.expiryMillis() != Version.NEVER;
            for (int owner : owners.of(key)) {
                if (left.contains(owner)) {
                    long found = there.at(owner, key);
                    if (found == stamp ? expires : found != INITIAL || !(expires || written.value() == null)) {
                        wrong.add("node " + owner + " has version " + found + " of " + key + ", the newest is " + stamp
                                + " of " + byStamp.get(stamp) + ", owners " + Arrays.toString(owners.of(key)));
                    }
                }
            }
        });
        return wrong;
    }

    /** What the level promises, and that what was answered is so. */
    List<String> judge() {
        List<String> wrong = new ArrayList<>();
        failed.keySet().stream().filter(applied::containsKey)
                .forEach(id -> wrong.add(id + " was applied, but its client was told " + failed.get(id)));
        Isolation promised = level == IsolationLevel.SERIALIZABLE
                ? Isolation.STRONG_SESSION_SERIALIZABLE
                : Isolation.READ_COMMITTED;
        IsolationCheck.check(recorder.history(), promised).violations()
                .forEach(violation -> wrong.add(violation.toString()));
        if (level == IsolationLevel.REPEATABLE_READ_WRITE_SKEW) {
            lostUpdates(wrong);
        }
        return wrong;
    }

    /**
     * What read-only transactions have read is the newest that was ever applied up to the stamp of their snapshots. Of nodes that were not left out: the others' snapshots are before all that is
     * decided without them, whatever its stamps.
     */
    List<String> snapshots(Set<Integer> nodes) {
        List<String> wrong = new ArrayList<>();
        for (SnapshotRead one : snapshotReads) {
            var newest = versions.getOrDefault(one.key, new TreeMap<>()).floorEntry(one.begin);
            if (nodes.contains(one.id.node()) && one.read != (newest == null ? INITIAL : newest.getKey())) {
                wrong.add("no snapshot: " + one + " instead of " + newest);
            }
        }
        return wrong;
    }

    /** Between the version that a transaction has read and the one that it wrote there is no other. */
    private void lostUpdates(List<String> wrong) {
        for (CheckedWrite checked : checkedWrites) {
            Long own = stamps.get(checked.id);
            if (own == null) {
                wrong.add(checked.id + " has committed, and nobody has applied it");
                continue;
            }
            versions.getOrDefault(checked.key, new TreeMap<>()).subMap(checked.read, false, own, false).keySet()
                    .forEach(stamp -> wrong.add("lost update: " + checked + " wrote at " + own
                            + ", and did not see version " + stamp));
        }
    }
}
