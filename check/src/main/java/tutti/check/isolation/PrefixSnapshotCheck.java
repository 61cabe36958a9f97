package tutti.check.isolation;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import tutti.check.CheckResult;
import tutti.check.column.IndexSort;
import tutti.check.column.IntColumn;
import tutti.check.history.History;

/**
 * Checks that every committed transaction read the state after some prefix of the total order, and that no other
 * committed to the keys that it wrote between that snapshot and its own position (first committer wins). This is
 * generalised snapshot isolation (Elnikety, Zwaenepoel and Pedone, SRDS 2005) with the total order as the order of
 * commits, and so stricter than {@link IsolationCheck}, to which any order of commits will do that fits the reads. It
 * also says which positions the snapshot would have to hold and to lack.
 *
 * <p>
 * What a transaction read bounds its snapshot from below (the newest position read) and from above (before the oldest
 * position that overwrote something read); what it wrote, from below by the version that it replaced. In the strong session
 * variant the snapshot is not older than the snapshots and positions of what its session did before; in the strong variant,
 * of whatever was answered before it began. Taking for each transaction in order of time the oldest snapshot within these
 * bounds finds a choice if there is one, for every bound from below grows with the choices made before. A snapshot position
 * that the replica itself gave is held to the same bounds.
 *
 * <p>
 * O(n log n) for n transactions, O(log v) for each read and write.
 */
public final class PrefixSnapshotCheck {
    private static final int VIOLATIONS_MAX = 20;

    /** How old a snapshot may be. */
    public enum Freshness {
        /** As old as it likes. */
        PLAIN,
        /** Not older than what the session has done and seen. */
        STRONG_SESSION,
        /** Not older than what anybody was told before it began. */
        STRONG,
        /** Of those that write: not older than what anybody was told before of others that wrote. */
        STRONG_FOR_UPDATES
    }

    private final History history;
    private final Freshness freshness;
    private final VersionOrder versions;
    private final List<CheckResult.Violation> violations = new ArrayList<>();
    private final long[] snapshots;

    private PrefixSnapshotCheck(History history, Freshness freshness) {
        this.history = history;
        this.freshness = freshness;
        versions = new VersionOrder(history);
        snapshots = new long[history.transactions()];
    }

    /** Checks. Sessions and instants that the history lacks bound nothing. */
    public static CheckResult check(History history, Freshness freshness) {
        long begun = System.nanoTime();
        PrefixSnapshotCheck check = new PrefixSnapshotCheck(history, freshness);
        check.violations.addAll(check.versions.contradictions());
        int examined = check.run();
        String name = switch (freshness) {
            case PLAIN -> "snapshots are prefixes of the total order";
            case STRONG_SESSION -> "snapshots are prefixes of the total order, not older than the session";
            case STRONG -> "snapshots are prefixes of the total order, not older than anything answered before";
            case STRONG_FOR_UPDATES -> "snapshots of updates are prefixes of the total order, not older than updates"
                    + " answered before";
        };
        return new CheckResult(name, examined + " committed transactions", check.violations, List.of(),
                (System.nanoTime() - begun) / 1e9);
    }

    private int run() {
        IntColumn committed = new IntColumn();
        IntColumn answered = new IntColumn();
        long[] begun = new long[history.transactions()];
        long[] ended = new long[history.transactions()];
        for (int t = 0; t < history.transactions(); t++) {
            begun[t] = history.begunNanos(t);
            ended[t] = history.answeredNanos(t);
            if (history.committed(t)) {
                committed.add(t);
                if (history.answer(t) == History.Answer.COMMITTED && ended[t] != History.NO_INSTANT) {
                    answered.add(t);
                }
            }
        }
        int[] byBegin = committed.toArray();
        IndexSort.sort(byBegin, begun);
        int[] byEnd = answered.toArray();
        IndexSort.sort(byEnd, ended);
        Map<Integer, Floor> sessions = new HashMap<>();
        Floor seenByAll = Floor.NONE;
        int next = 0;
        for (int t : byBegin) {
            while (next < byEnd.length && ended[byEnd[next]] < begun[t]) {
                if (freshness != Freshness.STRONG_FOR_UPDATES || history.writes(byEnd[next])) {
                    seenByAll = seenByAll.raised(reached(byEnd[next]), byEnd[next]);
                }
                next++;
            }
            Floor floor = switch (freshness) {
                case PLAIN -> Floor.NONE;
                case STRONG_SESSION -> sessions.getOrDefault(history.session(t), Floor.NONE);
                case STRONG -> begun[t] == History.NO_INSTANT ? Floor.NONE : seenByAll;
                case STRONG_FOR_UPDATES -> begun[t] == History.NO_INSTANT || !history.writes(t)
                        ? Floor.NONE
                        : seenByAll;
            };
            place(t, floor);
            // A transaction whose client was told nothing may commit after the next one of its session.
            if (history.session(t) >= 0 && history.answer(t) == History.Answer.COMMITTED) {
                sessions.merge(history.session(t), new Floor(reached(t), t),
                        (before, now) -> before.raised(now.position, now.by));
            }
        }
        return byBegin.length;
    }

    /** What somebody who was told of this transaction knows to be there. */
    private long reached(int t) {
        return Math.max(snapshots[t], history.writes(t) ? history.position(t) : 0);
    }

    private record Floor(long position, int by) {
        static final Floor NONE = new Floor(0, History.INITIAL);

        Floor raised(long to, int from) {
            return to > position ? new Floor(to, from) : this;
        }
    }

    private void place(int t, Floor floor) {
        long low = 0;
        int lowRead = -1;
        long high = history.writes(t) && history.position(t) > 0 ? history.position(t) - 1 : Long.MAX_VALUE;
        int highRead = -1;
        for (int read = history.readsFrom(t); read < history.readsTo(t); read++) {
            int key = history.readKey(read);
            int version = versions.version(key, history.readWriter(read));
            if (history.readWriter(read) == t || version == -2) {
                continue;
            }
            if (history.readWriter(read) != History.INITIAL && history.position(history.readWriter(read)) > low) {
                low = history.position(history.readWriter(read));
                lowRead = read;
            }
            if (version + 1 < versions.to(key) && history.position(versions.writer(version + 1)) - 1 < high) {
                high = history.position(versions.writer(version + 1)) - 1;
                highRead = read;
            }
        }
        long recorded = history.snapshot(t);
        snapshots[t] = Math.max(low, floor.position);
        if (low > high) {
            add("snapshot", t,
                    seen(lowRead) + missed(t, highRead, high) + ": no prefix of the total order holds position "
                            + low + " and lacks position " + (high + 1));
            return;
        }
        if (recorded != History.NO_SNAPSHOT) {
            if (recorded < low || recorded > high) {
                add("snapshot", t, "its snapshot was of position " + recorded
                        + (recorded < low ? seen(lowRead) : missed(t, highRead, high)));
                return;
            }
            low = recorded;
            high = recorded;
        }
        if (floor.position > high) {
            add("freshness", t,
                    "its snapshot cannot be newer than position " + high + missed(t, highRead, high) + ", but "
                            + history.name(floor.by) + ", which had " + (history.position(floor.by) == floor.position
                                    ? "committed at"
                                    : "seen")
                            + " position " + floor.position + ", was answered before it began");
            return;
        }
        snapshots[t] = Math.max(low, floor.position);
        for (int write = history.writesFrom(t); write < history.writesTo(t); write++) {
            int key = history.writeKey(write);
            int version = versions.version(key, t);
            if (version <= versions.from(key)) {
                continue;
            }
            int before = versions.writer(version - 1);
            if (history.position(before) > high) {
                add("first committer wins", t, "both wrote " + history.keyName(key) + ", " + history.name(before)
                        + " at position " + history.position(before) + " and " + history.name(t) + " at position "
                        + history.position(t) + ", with a snapshot of position " + high + " at most"
                        + missed(t, highRead, high));
                return;
            }
            snapshots[t] = Math.max(snapshots[t], history.position(before));
        }
    }

    private String seen(int read) {
        return read < 0
                ? ""
                : ", it read " + history.keyName(history.readKey(read)) + " as "
                        + history.name(history.readWriter(read))
                        + " wrote it at position " + history.position(history.readWriter(read));
    }

    private String missed(int t, int read, long high) {
        if (read >= 0) {
            return ", it read " + history.keyName(history.readKey(read)) + " as it was before position " + (high + 1);
        }
        return history.position(t) - 1 == high && history.snapshot(t) == History.NO_SNAPSHOT
                ? ", it committed at position " + history.position(t)
                : "";
    }

    private void add(String rule, int t, String text) {
        if (violations.size() < VIOLATIONS_MAX) {
            String clean = text.startsWith(", ") ? text.substring(2) : text;
            violations.add(new CheckResult.Violation(rule, history.name(t), clean, 1,
                    List.of(Map.of("did", new HistoryText(history).details(t)))));
        }
    }
}
