package tutti.core.protocol;

import java.util.ArrayDeque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.ClassMessage.Changes;
import tutti.core.protocol.ClassMessage.Release;
import tutti.core.protocol.ClassMessage.Submit;
import tutti.core.protocol.HybridMessage.Claim;
import tutti.core.protocol.HybridMessage.Divide;
import tutti.core.protocol.HybridMessage.Done;
import tutti.core.protocol.HybridMessage.Entry;
import tutti.core.protocol.HybridMessage.Everywhere;
import tutti.core.protocol.HybridMessage.Log;
import tutti.core.protocol.HybridMessage.Snapshot;
import tutti.core.protocol.HybridMessage.TakeOver;
import tutti.core.tune.ConcurrencyTuning;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;

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
 * <b>Together.</b> When an owner executes a request it executes with it those that stand directly behind it, whoever owns their logs, and, if more wait than
 * it has executors for, others that are first ({@link OwnerRuns}), one after the other in one transaction of its engine, and orders one outcome for all: so one latency of the order, and what a
 * transaction costs by itself, serve many. It could instead execute the next one on what the one before has left, while the outcome of that is being ordered;
 * but an engine has no transaction that reads what another has not committed, so both would have to be one transaction all the same, and its commit would
 * wait for the last outcome.
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
 * That holds of requests that are executed together, too. Let F be one of them that is not first. Before it stand, in each of its logs, none but others
 * of these, and in one log at least somebody does ({@link ClassQueues#run}). All that has committed in F's classes is visible when they are
 * begun: what has left the logs of these classes since, and when F was logged, is looked at. From then on something can commit in F's classes only if it is
 * first there, and so only if it is one of these, or F. So while all of them are in the logs none of their classes has changed, and the changes of all, in
 * their order, are those of one after the other at p. If one of them has left, by an outcome that somebody else has sent, the outcome of all is void as a whole,
 * at every replica alike, and what is left of it in the logs is executed anew by whoever owns it. So of two outcomes that overlap one counts, and
 * a take-over in the middle is no other case.
 *
 * <p>
 * Whose outcome is void knows it when the other one is delivered: nobody can leave before whom another stands, so one of those that were first has left with it. He
 * rolls back, runs that under whose name he has executed them once more, if it is still there, and takes the others that are first for not begun. A client
 * sees its request's result when the position of the outcome is visible, with that of all others of the same outcome; what it is told has been ordered.
 *
 * <p>
 * A request that the engine refuses is undone alone, if the engine can: then its refusal is its result, like any other of these, since it has seen what the
 * requests before it leave. Otherwise it is not executed with others: it is among the next ones, until it is the first of some, and refused alone. What fails together for a
 * passing reason is run again one by one.
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
 * <b>Another division while it runs.</b> How many logs there are, whose they are at home, and who executes requests, can change at a position
 * ({@link Division}, a {@link Divide} message). Nothing that is under way is lost or repeated by that: who stands where, and who is first, follows from
 * classes and not from logs, so the queues stay as they are; a run under way at a former owner goes on, and what it orders counts if it is the first
 * outcome, as from any deposed owner; from the position on the new owner undertakes what is first and has no outcome, as after a take-over. The division
 * is part of the snapshot, so whoever begins with one decides by the same. A replica's parameters are those with which the order began.
 * Who executes a request, its owner or every replica, is said by the request itself ({@link TransactionRequest.Placement}), and both stand in the same logs at
 * any time: {@link Mode#ACTIVE} says what worlds hand in from the position on, and what was handed in before, or by a replica that is behind, is
 * executed as it says. Logs have owners then, too, who have what waits executed everywhere when it is first, and execute what only one can.
 *
 * <p>
 * <b>Replicas that come and go</b> do at a position that every replica is told ({@link #members}), and owners with them. Logs of one that has gone have
 * another owner from there on. What the former one sends after that does not count, as if it had been fenced; what it sent before does. So the new
 * one begins exactly where the old one stopped, by the argument for a take-over, without waiting until that is missed. One that has come owns nothing
 * before it has caught up, at a position; what the former owners of its share have under way then counts if it is the first outcome.
 *
 * <p>
 * <b>No deadlock.</b> Whoever stands first among all that wait is first in each of its logs, so somebody always runs; those that
 * run side by side have no class in common. Each waits for one of a bounded number of executors, in the order in which they became first,
 * and whoever has one ends without waiting for others.
 *
 * <p>
 * <b>Failures.</b> What an engine refuses (a constraint, a missing table) is the request's result, ordered like any other. What fails for a
 * passing reason is run again, for minutes; then that is its result. While the owner's database is in trouble, which says nothing of the request,
 * the world goes on by itself, and tells no failure. Interactive transactions whose replica is gone are released
 * ({@link Orphans}); logged requests never are.
 */
public final class Hybrid implements Protocol {
    /** The name in configurations. */
    public static final String NAME = "hybrid";

    private static final long RESOLVE_TIMER = 1;
    private static final long OWNERS_TIMER = 2;
    static final long RETRY_TIMER = 3;
    static final long TUNE_TIMER = 4;
    static final long RETRY_LATER_TIMER = 5;
    /** An owner that is this many positions behind does not ask for its logs back. */
    private static final long BEHIND_MAX = 1000;
    /** Most requests that can be executed together. */
    static final int BATCH_MAX = 1000;

    /** Who executes whole requests. */
    public enum Mode {
        /** The owners of their logs. */
        HYBRID,
        /** Every replica, whatever has the same result everywhere; the owners of their logs what is handed in for these all the same. */
        ACTIVE,
        /** One owner of all logs. */
        PASSIVE
    }

    /**
     * Parameters; the same at every replica except {@code node}.
     *
     * @param node this replica
     * @param replicas all replicas with which the order began, alive or not: this one included, unless it has come later
     * @param division with which the order begins
     * @param executors to begin with: in how many engine transactions a replica executes requests of its logs at a time, at least 1; 0 for what
     *            keeps it from being behind
     * @param batch likewise: how many requests it executes in one engine transaction, at most; 1 to {@value #BATCH_MAX}, 0 likewise
     * @param takeOverDelayNanos how long an owner must have been missed before another one takes over
     * @param resolveIntervalNanos how long an interactive transaction whose replica is gone keeps its places before its release
     *            is asked for again
     */
    public record Parameters(int node, Set<Integer> replicas, Division division, int executors, int batch,
            long takeOverDelayNanos, long resolveIntervalNanos) {
        public Parameters {
            replicas = Checks.founders(replicas);
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
        TransactionRequest request;
        Phase phase = Phase.SUBMITTED;

        Local(TransactionId id, TransactionRequest request) {
            this.id = id;
            this.request = request;
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
    private final OwnerRuns runs;
    /** In order of {@code after}. */
    private final ArrayDeque<Turn> turns = new ArrayDeque<>();
    private final ArrayDeque<Decided> unanswered = new ArrayDeque<>();
    private final Orphans orphans;
    private final RepeatedProposal takeOvers;
    private Set<Integer> view;
    /** Replicas in view. */
    private Set<Integer> alive;
    private boolean ownersTimerRuns;
    /** So many times it was looked, one after the other, and an owner was missing. */
    private int ownersMissed;
    private long delivered;
    private long visible;
    /** Visible when this life began; -1 before that is known. What was delivered up to there need not be done again. */
    private long began = -1;

    /** A replica at the beginning of the order. */
    public Hybrid(Parameters parameters, ReplicaWorld world) {
        this.parameters = parameters;
        this.world = world;
        this.logs = new RequestLogs(parameters.replicas(), parameters.division());
        this.view = parameters.replicas();
        this.alive = view;
        this.runs = new OwnerRuns(parameters.executors(), parameters.batch(), queues, logs,
                parameters.node(), world);
        this.orphans = new Orphans(parameters.node(), parameters.replicas(), parameters.resolveIntervalNanos(),
                RESOLVE_TIMER, world);
        this.takeOvers = new RepeatedProposal(parameters.node(), world);
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
        if (!runs.failed(transaction, cause)) {
            end(running(transaction), new Outcome.Aborted(cause));
        }
        takeTurns();
    }

    @Override
    public void victim(TransactionId transaction, long forPosition) {
        if (runs.victim(transaction)) {
            takeTurns();
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
    public void undertaken(TransactionId transaction, Execution execution, List<Response> responses) {
        runs.undertaken(transaction, execution.writes(), responses);
        takeTurns();
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
        } else if (runs.take(entry)) {
            turns.add(new Turn(delivered, entry));
        }
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
                runs.ready(entry);
            } else if (local.containsKey(entry.transaction())) {
                world.run(entry.transaction(), ReplicaWorld.Priority.ORDERED);
            }
        }
        runs.begin(visible);
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
                Entry entry = leave(everywhere.transaction());
                if (entry == null || entry.request() == null) {
                    world.skip(position);
                } else {
                    runs.drop(entry.transaction());
                    execute(position, entry.transaction(), entry.request());
                }
            }
            case Release release -> {
                world.skip(position);
                orphans.released(sender);
                release.transactions().forEach(this::released);
            }
            case TakeOver takeOver -> {
                world.skip(position);
                takeOvers.delivered(sender);
                takenOver(sender, takeOver.claims());
            }
            case Divide divide -> {
                world.skip(position);
                divided(position, divide.division());
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
            if (entry.request() != null) {
                own.request = entry.request(); // kept once
            }
        } else if (orphan(entry)) {
            orphans.watch();
        }
        promote(entry);
    }

    private void changes(long position, Changes changes) {
        Entry entry = leave(changes.transaction());
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

    private @Nullable Entry leave(TransactionId transaction) {
        Entry entry = queues.of(transaction);
        if (entry != null) {
            runs.leaves(entry, delivered);
        }
        return queues.leave(transaction, this::promote);
    }

    /** The first outcome of a request that is delivered is its outcome; one of several counts if it is the first of each, and names none twice. */
    private void done(long position, Done done) {
        List<TransactionId> names = OwnerRuns.names(done);
        if (names.stream().distinct().count() < names.size() || !names.stream().allMatch(this::undecided)) {
            world.skip(position);
            return;
        }
        OwnerRuns.Ended here = runs.ended(done);
        names.forEach(name -> runs.leaves(queues.of(name), position));
        queues.leaveAll(names, this::promote);
        TransactionId first = done.transaction();
        for (TransactionId lost : here.held() ? List.<TransactionId>of() : here.runs()) {
            world.abort(lost);
        }
        // Of changes the first one's name is told with them.
        done.requests().stream().skip(done.writes().isEmpty() ? 0 : 1).filter(each -> each.response().tookEffect())
                .forEach(each -> world.includes(each.transaction(), position));
        if (done.writes().isEmpty()) {
            world.skip(position);
        } else {
            if (here.held()) {
                world.commit(first, position, done.writes());
            } else {
                world.apply(first, position, done.writes());
            }
        }
        for (HybridMessage.Executed each : done.requests()) {
            TransactionId name = each.transaction();
            boolean undertaken = here.runs().contains(name);
            boolean asked = local.remove(name) != null;
            if (asked) {
                world.respond(name, each.response());
            }
            if (asked || undertaken) {
                Outcome outcome = each.response().tookEffect()
                        ? new Outcome.Committed(done.writes().isEmpty() ? 0 : position)
                        : new Outcome.Aborted(new AbortReason.Failed("statement"));
                unanswered.add(new Decided(position, name, outcome, undertaken));
            }
        }
    }

    private void released(TransactionId transaction) {
        Entry entry = queues.of(transaction);
        if (entry != null && entry.request() != null) {
            return;
        }
        leave(transaction);
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
            if (decided.undertaken()) {
                runs.freed();
            }
            world.answer(decided.transaction(), decided.outcome());
        }
        takeTurns();
    }

    @Override
    public boolean undecided(TransactionId transaction) {
        Entry entry = queues.of(transaction);
        return entry != null && entry.request() != null;
    }

    @Override
    public long waitingBytes() {
        return queues.bytes();
    }

    // ------------------------------------------------------------------------------------------ replicas that are gone

    @Override
    public void view(Set<Integer> members) {
        view = Set.copyOf(members);
        look();
    }

    @Override
    public void members(long position, Set<Integer> members) {
        if (logs.members(position, members)) {
            queues.members().forEach(this::promote);
            look();
            takeTurns();
        }
    }

    /** Looks for what those that are not there have left. */
    private void look() {
        alive = logs.among(view);
        ownersMissed = 0;
        orphans.view(alive);
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
            List<Claim> claims = logs.claims(parameters.node(), alive, ownersMissed, delivered - visible <= BEHIND_MAX);
            ownersMissed = logs.missesOwner(alive) ? ownersMissed + 1 : 0;
            if (!claims.isEmpty()) {
                takeOvers.order(new TakeOver(claims));
            }
            watchOwners();
        } else if (timer == TUNE_TIMER) {
            runs.tune();
            takeTurns();
        } else {
            runs.retry(timer == RETRY_TIMER);
        }
    }

    @Override
    public void undertake(int executors, int together) {
        runs.limit(executors, together);
        takeTurns();
    }

    @Override
    public ConcurrencyTuning.@Nullable Choice undertaking() {
        return runs.tuned();
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

    /** What is first has perhaps another owner now, and a home that is missing must be succeeded. */
    private void divided(long position, Division wanted) {
        if (logs.divide(position, wanted)) {
            queues.members().forEach(this::promote);
            watchOwners();
        }
    }

    @Override
    public OrderedParameters ordered() {
        return logs.parameters();
    }

    private boolean orphan(Entry entry) {
        return entry.request() == null
                && orphans.isOne(entry.transaction(), local.containsKey(entry.transaction()));
    }

    private void resolve() {
        orphans.release(queues.members().stream().filter(this::orphan).map(Entry::transaction).toList());
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
