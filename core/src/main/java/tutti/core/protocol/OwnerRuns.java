package tutti.core.protocol;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.HybridMessage.Done;
import tutti.core.protocol.HybridMessage.Entry;
import tutti.core.protocol.HybridMessage.Everywhere;
import tutti.core.protocol.HybridMessage.Executed;
import tutti.core.tune.ConcurrencyTuning;
import tutti.core.txn.AbortReason;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * What a replica executes as the owner of request logs, under {@link Hybrid}, whose head says why it is right: which requests
 * together, and how often. Known by the first of those that are executed together. For one thread at a time.
 *
 * <p>
 * <b>How many together.</b> What stands directly behind somebody is always taken along, since it would have to wait, and whoever
 * owns its logs: no other replica begins with it or takes it along, since before it, in one log at least, stands somebody who is executed here, and in no log anybody
 * else. So a request of several owners' logs, and what stands behind it, need not be handed over first. Others that are first are taken in addition
 * only as far as executors would not be enough otherwise: if all that waits were divided among the executors, each would have so
 * many, and so many, but not more than the bound, are enough for one. So with few that wait each first has an executor of its own, and with many what a
 * transaction costs by itself is paid seldom.
 */
final class OwnerRuns {
    /** So often does a request fail for passing reasons before the next run waits for longer: with the delays between, for half a second. */
    private static final int SOON_MAX = 25;
    /**
     * And so often until that is its result: with the delays between, for ten minutes. What is logged is promised to be executed, and passing reasons have
     * mostly passed by then; one that never does would keep all that meets the request waiting for ever.
     */
    static final int FAILURES_MAX = SOON_MAX + 1200;
    private static final long SOON_NANOS = 20_000_000L;
    private static final long LATER_NANOS = 500_000_000L;

    /** Requests that are executed together, until they have been answered. */
    private static final class Run {
        final Entry first;
        /** The others of them that are first in all their logs, too. */
        List<Entry> joined = List.of();
        /** No other that is first is executed with it. */
        final boolean alone;
        /** The world has been asked for them, and an executor is taken. */
        boolean undertaken;
        /** So many runs have failed for a passing reason. */
        int failures;
        /** The last run failed for a passing reason. */
        boolean failed;
        /** What came of it, when that is on its way; kept to be compared with what is delivered. */
        @Nullable
        Done done;
        /** It was rolled back in the engine since. */
        boolean rolledBack;
        List<Entry> entries;

        Run(Entry first, boolean alone) {
            this.first = first;
            this.alone = alone;
            this.entries = List.of(first);
        }
    }

    /**
     * What of this replica's an outcome has ended.
     *
     * @param held whether it holds just what was delivered: then it is the only one
     * @param runs by their first requests
     */
    record Ended(boolean held, List<TransactionId> runs) {}

    private static final ConcurrencyTuning.Choice BEGIN = new ConcurrencyTuning.Choice(8, 32);
    /** Fewer together save nothing, since only what waits is taken together; more keep those waiting that stand behind any of them, at other owners too. */
    private static final ConcurrencyTuning.Bounds BOUNDS = new ConcurrencyTuning.Bounds(1, 64, BEGIN.together(), 256);

    /** Null if both numbers are given. */
    private @Nullable ConcurrencyTuning tuning;
    private ConcurrencyTuning.Choice now;
    private final TransactionQueues<Entry> queues;
    private final RequestLogs logs;
    private final int node;
    private final ReplicaWorld world;
    /** By each request of them that is first in its logs. */
    private final Map<TransactionId, Run> runs = new LinkedHashMap<>();
    /** To be executed when there is an executor. */
    private final ArrayDeque<Entry> ready = new ArrayDeque<>();
    /** Classes of which somebody has left the queues at a position that is not visible here, by the last such position, ascending. */
    private final LinkedHashMap<Long, Long> left = new LinkedHashMap<>();
    private long leftAll;
    /** Of the executors. */
    private int busy;
    /** The timer for the next choice runs. */
    private boolean tunes;
    /** So many requests have an outcome since the last choice, whoever executed them: who takes more at a time only from others is no faster. */
    private long done;

    /**
     * None.
     *
     * @param executors how many at a time; 0 for what keeps this replica from being behind
     * @param batch how many requests together, at most; 0 likewise
     * @param logs who is to execute a request now
     * @param node this replica
     */
    OwnerRuns(int executors, int batch, TransactionQueues<Entry> queues, RequestLogs logs, int node,
            ReplicaWorld world) {
        this.now = begin(executors, batch);
        this.tuning = tuning(executors, batch, now);
        this.queues = queues;
        this.logs = logs;
        this.node = node;
        this.world = world;
    }

    private static ConcurrencyTuning.Choice begin(int executors, int batch) {
        return new ConcurrencyTuning.Choice(executors == 0 ? BEGIN.sideBySide() : executors,
                batch == 0 ? BEGIN.together() : batch);
    }

    private static @Nullable ConcurrencyTuning tuning(int executors, int batch, ConcurrencyTuning.Choice begin) {
        return executors != 0 && batch != 0
                ? null
                : new ConcurrencyTuning(new ConcurrencyTuning.Bounds(
                        executors == 0 ? BOUNDS.sideBySideMin() : executors,
                        executors == 0 ? BOUNDS.sideBySideMax() : executors,
                        batch == 0 ? BOUNDS.togetherMin() : batch, batch == 0 ? BOUNDS.togetherMax() : batch), begin);
    }

    /** Other numbers from now on, as in the beginning. What runs goes on; who has more than that at work begins nothing until he has not. */
    void limit(int executors, int batch) {
        now = begin(executors, batch);
        tuning = tuning(executors, batch, now);
    }

    private boolean isOwn(Entry entry) {
        return logs.executor(entry.classes()) == node;
    }

    /** One has become first in its logs. Whether this replica is to run it, and does not yet. */
    boolean take(Entry entry) {
        return isOwn(entry) && runs.putIfAbsent(entry.transaction(), new Run(entry, false)) == null;
    }

    /** One that it has taken is first in its logs, and all before it is visible. */
    void ready(Entry entry) {
        ready.add(entry);
    }

    /** Has as many executed as there are executors. */
    void begin(long visible) {
        left.values().removeIf(position -> position <= visible);
        while (busy < now.sideBySide()) {
            Run run = next();
            if (run == null) {
                return;
            }
            begin(run, visible);
        }
    }

    /** The next that is to be executed of those that are ready; null if none is. */
    private @Nullable Run next() {
        for (Entry entry = ready.poll(); entry != null; entry = ready.poll()) {
            Run run = runs.get(entry.transaction());
            if (run == null || run.undertaken || !queues.contains(entry)) {
                continue;
            }
            if (!isOwn(entry)) {
                runs.remove(entry.transaction());
            } else if (entry.everywhere()) {
                world.order(new Everywhere(entry.transaction()));
            } else {
                return run;
            }
        }
        return null;
    }

    private void begin(Run run, long visible) {
        busy++;
        if (tuning != null && !tunes) {
            tunes = true;
            world.timer(Hybrid.TUNE_TIMER, ConcurrencyTuning.INTERVAL_NANOS);
        }
        run.undertaken = true;
        int enough = run.alone ? 1 : Math.ceilDiv(queues.size(), now.sideBySide());
        run.entries = queues.run(run.first, enough, run.alone ? 1 : now.together(), next -> follows(next, visible),
                () -> join(run));
        List<TransactionRequest.Whole> requests = new ArrayList<>();
        for (Entry each : run.entries) {
            TransactionRequest.Whole asked = each.request();
            if (asked != null) {
                requests.add(asked);
            }
        }
        world.undertake(run.first.transaction(), requests);
    }

    /** Another that is ready is executed with some; null if none is, or the next is to be alone. */
    private @Nullable Entry join(Run run) {
        Run other = next();
        if (other == null) {
            return null;
        }
        if (other.alone) {
            ready.addFirst(other.first);
            return null;
        }
        List<Entry> joined = new ArrayList<>(run.joined);
        joined.add(other.first);
        run.joined = joined;
        runs.put(other.first.transaction(), run);
        return other.first;
    }

    /**
     * Only so many of them are executed now. Others that are first are ready again.
     *
     * @param alone whether each of these is executed without others that are first
     */
    private void keep(Run run, int count, boolean alone) {
        run.entries = List.copyOf(run.entries.subList(0, count));
        List<Entry> others = run.joined.stream().filter(entry -> !run.entries.contains(entry)).toList();
        run.joined = run.joined.stream().filter(run.entries::contains).toList();
        others.stream().filter(queues::contains).forEach(entry -> {
            runs.put(entry.transaction(), new Run(entry, alone));
            ready.add(entry);
        });
    }

    /** Some time has passed since it began with something, or since this was called: chooses anew. */
    void tune() {
        ConcurrencyTuning by = tuning;
        if (by == null) {
            tunes = false;
            return;
        }
        long waiting = queues.count(entry -> entry.request() != null && isOwn(entry));
        now = by.next(ConcurrencyTuning.INTERVAL_NANOS, done, waiting);
        done = 0;
        tunes = waiting > 0;
        if (tunes) {
            world.timer(Hybrid.TUNE_TIMER, ConcurrencyTuning.INTERVAL_NANOS);
        }
    }

    /** What it has chosen; null if both numbers are given. */
    ConcurrencyTuning.@Nullable Choice tuned() {
        return tuning == null ? null : now;
    }

    /** Whether one may be executed behind those that it stands behind in the logs. */
    private boolean follows(Entry entry, long visible) {
        return entry.request() != null && !entry.everywhere() && sees(entry, visible);
    }

    /** Whether everything that has committed in its classes is visible here. */
    private boolean sees(Entry entry, long visible) {
        if (entry.sequence() > visible || leftAll > visible || (entry.classes().all() && !left.isEmpty())) {
            return false;
        }
        for (int i = 0; i < entry.classes().size(); i++) {
            if (left.containsKey(entry.classes().hash(i))) {
                return false;
            }
        }
        return true;
    }

    /** Somebody leaves the queues at a position. */
    void leaves(Entry entry, long position) {
        if (entry.classes().all()) {
            leftAll = position;
        }
        for (int i = 0; i < entry.classes().size(); i++) {
            left.remove(entry.classes().hash(i));
            left.put(entry.classes().hash(i), position);
        }
    }

    /** An executor is free: what it has run was answered. */
    void freed() {
        busy--;
    }

    // ------------------------------------------------------------------------------------------ what comes of it

    /** Some have been executed. */
    void undertaken(TransactionId transaction, WriteSet writes, List<Response> responses) {
        Run run = runs.get(transaction);
        if (run == null || run.done != null || responses.isEmpty() || responses.size() > run.entries.size()) {
            throw new IllegalStateException(transaction + " was executed with " + (responses.size() - 1)
                    + " others, but this replica does not run them");
        }
        keep(run, responses.size(), false);
        done(run, writes, responses);
    }

    private void done(Run run, WriteSet writes, List<Response> responses) {
        List<Executed> executed = new ArrayList<>();
        Iterator<Entry> entries = run.entries.iterator();
        responses.forEach(response -> executed.add(new Executed(entries.next().transaction(), response)));
        Done done = new Done(executed, writes);
        run.done = done;
        world.order(done);
    }

    /** They have failed for a passing reason. Whether it runs them. */
    boolean failed(TransactionId transaction, AbortReason.Failed cause) {
        Run run = runs.get(transaction);
        if (run == null) {
            return false;
        }
        keep(run, 1, true);
        run.failures++;
        if (run.failures == FAILURES_MAX) {
            done(run, WriteSet.EMPTY, List.of(new Response("40001", "the request was run " + FAILURES_MAX
                    + " times and failed each time for a passing reason (" + cause.label() + "); try again",
                    new byte[0])));
        } else {
            run.failed = true;
            world.timer(soon(run) ? Hybrid.RETRY_TIMER : Hybrid.RETRY_LATER_TIMER,
                    soon(run) ? SOON_NANOS : LATER_NANOS);
        }
        return true;
    }

    private static boolean soon(Run run) {
        return run.failures < SOON_MAX;
    }

    /** Runs what has failed again: what has failed a few times, or what has often. */
    void retry(boolean soon) {
        List.copyOf(runs.values()).stream().filter(run -> run.failed && run.done == null && soon(run) == soon)
                .forEach(this::again);
    }

    /** They were rolled back in the engine. Whether it runs them. */
    boolean victim(TransactionId transaction) {
        Run run = runs.get(transaction);
        if (run == null) {
            return false;
        }
        if (run.done == null) {
            again(run);
        } else {
            run.rolledBack = true;
        }
        return true;
    }

    /** What has failed together is run one by one: whichever it was, the others get on. */
    private void again(Run run) {
        run.failed = false;
        keep(run, 1, false);
        world.run(run.first.transaction(), ReplicaWorld.Priority.ORDERED);
    }

    // ------------------------------------------------------------------------------------------ what was delivered

    /** One is executed by every replica at a position. */
    void drop(TransactionId transaction) {
        runs.remove(transaction);
    }

    /**
     * An outcome counts. What was executed here together with some that it names has ended with it if its first is one of them. Otherwise it is rolled
     * back, since part of it is void, and its first is run once more. Others that are first, and that the outcome does not name, are ready again.
     */
    Ended ended(Done delivered) {
        Set<TransactionId> names = new LinkedHashSet<>(names(delivered));
        Set<Run> met = new LinkedHashSet<>();
        for (TransactionId name : names) {
            Run run = runs.remove(name);
            if (run != null && run.undertaken) {
                met.add(run);
            }
        }
        done += names.size();
        boolean held = false;
        List<TransactionId> ended = new ArrayList<>();
        for (Run run : met) {
            TransactionId first = run.first.transaction();
            run.joined = run.joined.stream().filter(entry -> !names.contains(entry.transaction())).toList();
            if (names.contains(first)) {
                ended.add(first);
                held |= !run.rolledBack && same(run.done, delivered);
                keep(run, 1, false);
            } else {
                world.abort(first);
                run.done = null;
                run.rolledBack = false;
                again(run);
            }
        }
        return new Ended(held, ended);
    }

    /** Whether what this replica holds is what was delivered, which another run may have sent. */
    private static boolean same(@Nullable Done own, Done delivered) {
        if (own == null || own.requests().size() != delivered.requests().size()
                || !Arrays.equals(own.writes().changes(), delivered.writes().changes())) {
            return false;
        }
        for (int i = 0; i < own.requests().size(); i++) {
            Executed one = own.requests().get(i);
            Executed other = delivered.requests().get(i);
            if (!one.transaction().equals(other.transaction()) || !one.response().same(other.response())) {
                return false;
            }
        }
        return true;
    }

    /** Those whose outcome has been delivered. */
    static List<TransactionId> names(Done done) {
        return done.requests().stream().map(Executed::transaction).toList();
    }

}
