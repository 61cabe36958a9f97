package tutti.core.protocol;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.ClassMessage.Changes;
import tutti.core.protocol.ClassMessage.Release;
import tutti.core.protocol.ClassMessage.Submit;
import tutti.core.protocol.HybridMessage.Claim;
import tutti.core.protocol.HybridMessage.Done;
import tutti.core.protocol.HybridMessage.Entry;
import tutti.core.protocol.HybridMessage.Everywhere;
import tutti.core.protocol.HybridMessage.Log;
import tutti.core.protocol.HybridMessage.Snapshot;
import tutti.core.protocol.HybridMessage.TakeOver;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * {@code hybrid}: whole requests are logged first, by conflict class; the owner of a log executes what stands in it, and the
 * others apply its write sets (log-based hybrid replication: SQLware, chapter 4). One-copy serializability without certification
 * and without aborts for conflicts. What the thesis leaves open is here, too: requests of several logs, and owners that die.
 *
 * <pre>
 *  client  submitted  delivered at q, everywhere   first in its logs,            delivered at p, everywhere
 *    |        |                |                   q.. visible at the owner                |
 *    +--------+-- order Log ---+-- request logs ---------+-- undertake -- order Done ------+-- out of the logs; the owner
 *                 (id, request)                                    (id, changes, response)     commits, others apply, the
 *                                                                                              client's replica answers
 * </pre>
 *
 * <p>
 * <b>Logs.</b> The conflict classes are divided among request logs; each log has an owner ({@link RequestLogs}). A request stands
 * in the logs of all its classes, at the same place of the total order in each; when nothing before it meets it there, it is
 * first, and the owner of the lowest of its logs executes it, whichever replica it was submitted to. The total order holds all logs
 * and the log of write sets, so that a place in one log can be compared with a place in another.
 *
 * <p>
 * <b>What else there is.</b> An interactive transaction, of which only the classes are known, and a request of which its client
 * wants one run at its own replica, get their places in the logs likewise and run where they were submitted ({@link Nodo}). What
 * every replica is to execute is executed at the position at which it is found to be first.
 *
 * <p>
 * <b>Why that is one-copy serializability.</b> What stands in the logs, and hence who is first, is a function of the ordered
 * prefix. Let T be first from position q on until its changes are delivered at p. Nothing that meets T's classes commits between q
 * and p: it would have to be first, too. Whoever runs T does so when everything up to q is visible there. So T has read, of its
 * classes, what the positions before p leave, <i>wherever and however often it was run</i>, as {@link Nodo} argues for one run.
 *
 * <p>
 * <b>Nothing is lost, nothing repeated.</b> A logged request leaves the logs with the first {@link Done} that is delivered for it; all
 * later ones find it gone and are skipped, by all replicas alike. So two that both take themselves for the owner do harm to nobody:
 * what a deposed owner sends late counts if it comes first, and is void if not. Ownership and its epochs see to it that usually one
 * replica does the work; what is right does not rest on them, nor on clocks or views. An owner that dies is succeeded by a
 * {@link TakeOver}, upon which the new one undertakes all that is first in those logs; an owner that restarts goes on with what its snapshot
 * and the order say is in them. A replica whose own run did not come first rolls it back and applies what did, which may differ: a
 * request may depend on the time or on chance.
 *
 * <p>
 * <b>No deadlock.</b> Whoever stands first among all that wait is first in each of its logs, so somebody always runs; those that
 * run side by side have no class in common. Each waits for one of a bounded number of executors, in the order in which they became first,
 * and whoever has one ends without waiting for others.
 *
 * <p>
 * <b>Failures.</b> What an engine refuses (a constraint, a missing table) is the request's result, ordered like any other. What fails for a
 * passing reason is run again, a bounded number of times. Interactive transactions whose replica is gone are released
 * ({@link Orphans}); logged requests never are.
 */
public final class Hybrid implements Protocol {
    /** The name in configurations. */
    public static final String NAME = "hybrid";

    private static final long RESOLVE_TIMER = 1;
    private static final long OWNERS_TIMER = 2;
    private static final long RETRY_TIMER = 3;
    private static final long RETRY_NANOS = 20_000_000L;
    /** So often is a request run that fails for passing reasons: with the delays between, for half a second. */
    private static final int RUNS_MAX = 25;
    /** An owner that is this many positions behind does not ask for its logs back. */
    private static final long BEHIND_MAX = 1000;

    /** Who executes whole requests. */
    public enum Mode {
        /** The owners of their logs. */
        HYBRID,
        /** Every replica, whatever has the same result everywhere. */
        ACTIVE,
        /** One owner of all logs. */
        PASSIVE
    }

    /**
     * Parameters; the same at every replica except {@code node}.
     *
     * @param node this replica
     * @param replicas all replicas, alive or not, this one included
     * @param logs how many request logs there are, 1 to {@link RequestLogs#LOGS_MAX}
     * @param executors how many requests of its logs a replica executes at a time, at least 1
     * @param takeOverDelayNanos how long an owner must have been missed before another one takes over
     * @param resolveIntervalNanos how long an interactive transaction whose replica is gone keeps its places before its release
     *            is asked for again
     */
    public record Parameters(int node, Set<Integer> replicas, Mode mode, int logs, int executors,
            long takeOverDelayNanos, long resolveIntervalNanos) {
        public Parameters {
            replicas = Checks.replicas(node, replicas);
            Checks.time("takeOverDelayNanos", takeOverDelayNanos);
            Checks.time("resolveIntervalNanos", resolveIntervalNanos);
        }
    }

    /** What this replica knows of a transaction of its own that has not been answered. */
    private enum Phase {
        /** Its first message is on its way. */
        SUBMITTED,
        /** It stands in the logs: runs here when it is first, or is a whole request, which some owner executes. */
        QUEUED,
        /** First in all logs; will run here as soon as its state is visible, or runs. */
        FIRST,
        /** Its second message is on its way; it holds its locks. */
        ORDERED,
        /** Its second message is on its way; it was rolled back in the engine. */
        ORDERED_ROLLED_BACK
    }

    private static final class Local {
        final TransactionId id;
        final TransactionRequest request;
        Phase phase = Phase.SUBMITTED;

        Local(TransactionId id, TransactionRequest request) {
            this.id = id;
            this.request = request;
        }
    }

    /** What this replica executes as the owner of a log, until it has been answered. */
    private static final class Run {
        final Entry entry;
        /** The world has been asked for it, and an executor is taken by it. */
        boolean undertaken;
        int runs;
        /** Its last run failed for a passing reason. */
        boolean failed;
        /** What came of it, when that is on its way; kept to be compared with what is delivered. */
        @Nullable
        Done done;
        /** It was rolled back in the engine since. */
        boolean rolledBack;

        Run(Entry entry) {
            this.entry = entry;
        }
    }

    /** To be run once everything up to {@code after} is visible here: the position at which it became first. */
    private record Turn(long after, Entry entry) {}

    /** Decided, and answered as soon as that is visible here. */
    private record Decided(long position, TransactionId transaction, Outcome outcome, boolean undertaken) {}

    private final Parameters parameters;
    private final ReplicaWorld world;
    private final RequestLogs logs;
    private final TransactionQueues<Entry> queues = new TransactionQueues<>();
    private final Map<TransactionId, Local> local = new LinkedHashMap<>();
    private final Map<TransactionId, Run> runs = new LinkedHashMap<>();
    /** In order of {@code after}. */
    private final ArrayDeque<Turn> turns = new ArrayDeque<>();
    /** To be executed here when there is an executor. */
    private final ArrayDeque<Entry> ready = new ArrayDeque<>();
    private final ArrayDeque<Decided> unanswered = new ArrayDeque<>();
    private final Orphans orphans;
    private Set<Integer> alive;
    /** Of the executors. */
    private int busy;
    private boolean ownersTimerRuns;
    private long delivered;
    private long visible;
    /** Visible when this life began; -1 before that is known. What was delivered up to there need not be done again. */
    private long began = -1;

    /** A replica at the beginning of the order. */
    public Hybrid(Parameters parameters, ReplicaWorld world) {
        this.parameters = parameters;
        this.world = world;
        this.logs = new RequestLogs(parameters.replicas(), parameters.logs(), parameters.mode() == Mode.PASSIVE);
        this.alive = new TreeSet<>(parameters.replicas());
        this.orphans = new Orphans(parameters.node(), parameters.replicas(), parameters.resolveIntervalNanos(),
                RESOLVE_TIMER);
    }

    // ------------------------------------------------------------------------------------------ local transactions

    @Override
    public void submitted(TransactionId transaction, TransactionRequest request) {
        if (local.putIfAbsent(transaction, new Local(transaction, request)) != null) {
            throw new IllegalStateException(transaction + " was submitted twice");
        }
        if (request instanceof TransactionRequest.Whole whole
                && whole.placement() != TransactionRequest.Placement.ONE) {
            world.order(new Log(transaction, whole));
        } else {
            world.order(new Submit(transaction, request.classes()));
        }
    }

    @Override
    public void executed(TransactionId transaction, Execution execution) {
        Local own = running(transaction);
        if (execution.writes().isEmpty()) {
            end(own, new Outcome.Committed(0));
        } else {
            own.phase = Phase.ORDERED;
            world.order(new Changes(transaction, execution.writes()));
        }
    }

    private Local running(TransactionId transaction) {
        Local own = local.get(transaction);
        if (own != null && own.phase == Phase.FIRST) {
            return own;
        }
        throw new IllegalStateException(transaction + " was not running");
    }

    /** It changes nothing: answers, and frees its places. */
    private void end(Local own, Outcome outcome) {
        local.remove(own.id);
        world.answer(own.id, outcome);
        world.order(new Release(List.of(own.id)));
    }

    @Override
    public void failed(TransactionId transaction, AbortReason.Failed cause) {
        Run run = runs.get(transaction);
        if (run == null) {
            end(running(transaction), new Outcome.Aborted(cause));
        } else if (run.runs < RUNS_MAX) {
            run.failed = true;
            world.timer(RETRY_TIMER, RETRY_NANOS);
        } else {
            done(run, WriteSet.EMPTY, new Response("40001", "the request was run " + RUNS_MAX
                    + " times and failed each time for a passing reason (" + cause.label() + "); try again",
                    new byte[0]));
        }
    }

    @Override
    public void victim(TransactionId transaction, long forPosition) {
        Run run = runs.get(transaction);
        if (run != null) {
            if (run.done == null) {
                again(run);
            } else {
                run.rolledBack = true;
            }
            return;
        }
        Local own = local.get(transaction);
        if (own != null && own.phase == Phase.ORDERED) {
            own.phase = Phase.ORDERED_ROLLED_BACK;
        } else if (own != null && own.phase == Phase.FIRST) {
            // Not by its classes, or it would not be first: two keys with one hash, or a lock that is no row's.
            if (own.request instanceof TransactionRequest.Whole) {
                world.run(transaction, ReplicaWorld.Priority.ORDERED);
            } else {
                end(own, new Outcome.Aborted(new AbortReason.Victim(forPosition)));
            }
        }
    }

    // ------------------------------------------------------------------------------------------ execution

    @Override
    public void undertaken(TransactionId transaction, Execution execution, Response response) {
        Run run = runs.get(transaction);
        if (run == null || run.done != null) {
            throw new IllegalStateException(transaction + " was executed, but this replica does not run it");
        }
        done(run, execution.writes(), response);
    }

    private void done(Run run, WriteSet writes, Response response) {
        Done done = new Done(run.entry.transaction(), writes, response);
        run.done = done;
        world.order(done);
    }

    private void again(Run run) {
        run.runs++;
        run.failed = false;
        world.run(run.entry.transaction(), ReplicaWorld.Priority.ORDERED);
    }

    /** Sees to it that a transaction is run that has become first in all its logs, if that is for this replica to do. */
    private void promote(Entry entry) {
        if (!queues.isNext(entry)) {
            return;
        }
        if (entry.request() == null) {
            Local own = local.get(entry.transaction());
            if (own != null && own.phase == Phase.QUEUED) {
                own.phase = Phase.FIRST;
                turns.add(new Turn(delivered, entry));
            }
        } else if (isOwn(entry) && !runs.containsKey(entry.transaction())) {
            runs.put(entry.transaction(), new Run(entry));
            turns.add(new Turn(delivered, entry));
        }
    }

    private boolean isOwn(Entry entry) {
        return logs.executor(entry.classes()) == parameters.node();
    }

    private void takeTurns() {
        if (began < 0 || delivered < began) {
            return;
        }
        while (!turns.isEmpty() && turns.peek().after() <= visible) {
            Entry entry = turns.remove().entry();
            if (!queues.contains(entry)) {
                continue;
            }
            if (entry.request() != null) {
                ready.add(entry);
            } else if (local.containsKey(entry.transaction())) {
                world.run(entry.transaction(), ReplicaWorld.Priority.ORDERED);
            }
        }
        while (busy < parameters.executors() && !ready.isEmpty()) {
            begin(ready.remove());
        }
    }

    private void begin(Entry entry) {
        Run run = runs.get(entry.transaction());
        if (run == null || run.undertaken || !queues.contains(entry)) {
            return;
        }
        TransactionRequest.Whole request = entry.request();
        if (!isOwn(entry) || request == null) {
            runs.remove(entry.transaction());
        } else if (entry.everywhere()) {
            world.order(new Everywhere(entry.transaction()));
        } else {
            busy++;
            run.undertaken = true;
            run.runs = 1;
            world.undertake(entry.transaction(), request);
        }
    }

    // ------------------------------------------------------------------------------------------ the order

    @Override
    public void delivered(long position, int sender, Message message) {
        if (position <= delivered) {
            throw new IllegalStateException("position " + position + " delivered after " + delivered);
        }
        delivered = position;
        switch (message) {
            case Submit submit -> {
                world.skip(position);
                enter(new Entry(position, submit.transaction(), submit.classes(), null));
            }
            case Log log -> log(position, log);
            case Changes changes -> changes(position, changes);
            case Done done -> done(position, done);
            case Everywhere everywhere -> {
                Entry entry = queues.leave(everywhere.transaction(), this::promote);
                if (entry == null || entry.request() == null) {
                    world.skip(position);
                } else {
                    runs.remove(entry.transaction());
                    execute(position, entry.transaction(), entry.request());
                }
            }
            case Release release -> {
                world.skip(position);
                release.transactions().forEach(this::released);
            }
            case TakeOver takeOver -> {
                world.skip(position);
                takenOver(sender, takeOver.claims());
            }
            default -> throw new IllegalArgumentException("not a message of " + NAME + ": " + message);
        }
        takeTurns();
    }

    private void log(long position, Log log) {
        Entry entry = new Entry(position, log.transaction(), log.request().classes(), log.request());
        if (entry.everywhere() && queues.isFree(entry.classes())) {
            execute(position, log.transaction(), log.request());
        } else {
            world.skip(position);
            enter(entry);
        }
    }

    private void execute(long position, TransactionId transaction, TransactionRequest.Whole request) {
        world.execute(transaction, position, request);
        if (local.remove(transaction) != null) {
            unanswered.add(new Decided(position, transaction, new Outcome.Committed(position), false));
        }
    }

    private void enter(Entry entry) {
        queues.enter(entry);
        Local own = local.get(entry.transaction());
        if (own != null) {
            own.phase = Phase.QUEUED;
        } else if (orphan(entry)) {
            orphans.watch(world);
        }
        promote(entry);
    }

    private void changes(long position, Changes changes) {
        Entry entry = queues.leave(changes.transaction(), this::promote);
        Local own = local.remove(changes.transaction());
        if (entry == null) {
            world.skip(position);
        } else if (own != null && own.phase == Phase.ORDERED) {
            world.commit(changes.transaction(), position, changes.writes());
        } else {
            world.apply(changes.transaction(), position, changes.writes());
        }
        if (own != null && entry != null) {
            unanswered.add(new Decided(position, own.id, new Outcome.Committed(position), false));
        }
    }

    /** The first outcome of a request that is delivered is its outcome. */
    private void done(long position, Done done) {
        TransactionId transaction = done.transaction();
        Entry entry = queues.leave(transaction, this::promote);
        if (entry == null) {
            world.skip(position);
            return;
        }
        Run run = runs.remove(transaction);
        boolean undertaken = run != null && run.undertaken;
        boolean held = run != null && !run.rolledBack && same(run.done, done);
        if (undertaken && !held) {
            world.abort(transaction);
        }
        if (done.writes().isEmpty()) {
            world.skip(position);
        } else if (held) {
            world.commit(transaction, position, done.writes());
        } else {
            world.apply(transaction, position, done.writes());
        }
        boolean asked = local.remove(transaction) != null;
        if (asked) {
            world.respond(transaction, done.response());
        }
        if (asked || undertaken) {
            Outcome outcome = done.response().tookEffect()
                    ? new Outcome.Committed(done.writes().isEmpty() ? 0 : position)
                    : new Outcome.Aborted(new AbortReason.Failed("statement"));
            unanswered.add(new Decided(position, transaction, outcome, undertaken));
        }
    }

    /** Whether what this replica holds is what was delivered, which another run may have sent. */
    private static boolean same(@Nullable Done own, Done delivered) {
        return own != null && Arrays.equals(own.writes().changes(), delivered.writes().changes())
                && own.response().same(delivered.response());
    }

    private void released(TransactionId transaction) {
        Entry entry = queues.of(transaction);
        if (entry != null && entry.request() != null) {
            return;
        }
        queues.leave(transaction, this::promote);
        if (local.remove(transaction) != null) {
            world.abort(transaction);
            world.answer(transaction, new Outcome.Aborted(new AbortReason.Refused(
                    "the other replicas took this one for gone and gave the transaction's place away; try again")));
        }
    }

    @Override
    public void committed(long position, long horizon) {
        visible = position;
        if (began < 0) {
            began = position;
            queues.members().forEach(this::promote);
        }
        while (!unanswered.isEmpty() && unanswered.peek().position() <= position) {
            Decided decided = unanswered.remove();
            busy -= decided.undertaken() ? 1 : 0;
            world.answer(decided.transaction(), decided.outcome());
        }
        takeTurns();
    }

    @Override
    public boolean undecided(TransactionId transaction) {
        Entry entry = queues.of(transaction);
        return entry != null && entry.request() != null;
    }

    // ------------------------------------------------------------------------------------------ replicas that are gone

    @Override
    public void view(Set<Integer> members) {
        alive = new TreeSet<>(members);
        orphans.view(members);
        resolve();
        watchOwners();
    }

    @Override
    public void timer(long timer) {
        if (timer == RESOLVE_TIMER) {
            orphans.ranOut();
            resolve();
        } else if (timer == OWNERS_TIMER) {
            ownersTimerRuns = false;
            List<Claim> claims = logs.claims(parameters.node(), alive, delivered - visible <= BEHIND_MAX);
            if (!claims.isEmpty()) {
                world.order(new TakeOver(claims));
            }
            watchOwners();
        } else {
            List.copyOf(runs.values()).stream().filter(run -> run.failed && run.done == null)
                    .forEach(this::again);
        }
    }

    private void watchOwners() {
        if (!ownersTimerRuns && logs.unsettled(alive)) {
            ownersTimerRuns = true;
            world.timer(OWNERS_TIMER, parameters.takeOverDelayNanos());
        }
    }

    private void takenOver(int claimant, List<Claim> claims) {
        claims.forEach(claim -> logs.take(claim, claimant));
        queues.members().forEach(this::promote);
        watchOwners();
    }

    private boolean orphan(Entry entry) {
        return entry.request() == null
                && orphans.isOne(entry.transaction(), local.containsKey(entry.transaction()));
    }

    private void resolve() {
        orphans.release(queues.members().stream().filter(this::orphan).map(Entry::transaction).toList(), world);
    }

    // ------------------------------------------------------------------------------------------ snapshots

    @Override
    public byte[] snapshot() {
        return new Snapshot(delivered, logs.image(), List.copyOf(queues.members())).bytes();
    }

    @Override
    public void restore(byte[] snapshot) {
        Snapshot from = Snapshots.open(snapshot, Snapshot.class);
        delivered = from.delivered();
        logs.restore(from.logs());
        from.entries().forEach(queues::enter);
    }
}
