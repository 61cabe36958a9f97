package tutti.core.protocol;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import tutti.core.certify.CertificationIndex;
import tutti.core.protocol.TwoPhaseMessage.Decide;
import tutti.core.protocol.TwoPhaseMessage.Ended;
import tutti.core.protocol.TwoPhaseMessage.Everywhere;
import tutti.core.protocol.TwoPhaseMessage.Inquire;
import tutti.core.protocol.TwoPhaseMessage.Join;
import tutti.core.protocol.TwoPhaseMessage.Leave;
import tutti.core.protocol.TwoPhaseMessage.Prepare;
import tutti.core.protocol.TwoPhaseMessage.Vote;
import tutti.core.protocol.TwoPhaseMessage.Wait;
import tutti.core.protocol.TwoPhaseMessage.Waits;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;

/**
 * {@code 2pc}: distributed locking and two-phase commit, the baseline of the family: one-copy snapshot isolation on
 * snapshot engines, one-copy serializability on engines with strict two-phase locking (eager update everywhere with
 * distributed locking: MacroDDB section 2.2; deadlocks as in the baseline of the TOM paper, section III).
 *
 * <pre>
 *  client    executed         at every member                       all have voted          delivered at p, everywhere
 *    |          |                    |                                    |                          |
 *    +--run-----+-- multicast -------+-- locks, prepare -- multicast -----+--- order Decide ---------+-- commit -- answer
 *       (locks at home)  Prepare                           Vote               (epoch, changes)           and unlock
 * </pre>
 *
 * <p>
 * <b>Locks.</b> A transaction locks what it writes at its own replica while it runs. When it has run, its replica, the
 * coordinator, asks all other members to make the changes and hold the locks. {@link KeyLocks} knows the keys of all that
 * have run or been prepared here; who meets them waits in here, and so it is known for whom. Local transactions that still
 * run hold locks that only the engine knows, and engines with strict two-phase locking lock what is read; the prepared one
 * then waits in the engine, which says for whom ({@link #blocked}).
 *
 * <p>
 * <b>Deadlocks.</b> What has run, has a lock that an older one of another coordinator needs, and has not all votes, would wait for that one at its
 * coordinator: it is aborted at once, whether the older one asked first or it had run first. Nobody
 * is aborted by that who could commit before the other ends: both have run, each holds the key where it has run, and neither can get the
 * other's vote. So the older one keeps its place in the engine's queue. If it gave way to everybody who
 * had the lock before it, and those came again after their abort, it would never get it. All other circles are found by what is
 * told: each replica tells the members who waits there for whom, in here or in the engine. In each set of
 * transactions that all wait for one another the youngest is aborted by its coordinator ({@link WaitGraph}). No
 * deadlock lasts: let T1, T2, …, T1 wait for one another, each for the next one.
 * <ul>
 * <li>Those that run and have not been prepared anywhere are in no other engine than their own. A circle of such ones only
 * is in one engine, which sees it and refuses a wait. Otherwise leave them out of the circle: engines say for whom a prepared one waits <em>directly or
 * through others</em>, so each of the rest waits for the next of the rest at some replica that knows it. If only one is left, it waits for
 * itself, and is the youngest.
 * <li>Of those that have not been prepared anywhere, one may have run and hold its locks until its replica lets it ask: until one
 * of as many as may be in flight there has its outcome. It is taken to wait for all of these, and replicas say so, too. So it does not
 * matter how few may be in flight.
 * <li>What these wait for does not end by itself, so their replicas tell it at each tick for as long as it lasts, and the
 * coordinators of all of them come to know it together. Waits of the past are forgotten after a while and cannot keep a
 * youngest one from being found that is not there any more.
 * <li>None of the rest has been decided: it has then all votes, and waits nowhere. So the youngest is in its coordinator's first phase,
 * where it can be aborted, and is.
 * </ul>
 * News may be old, too, when a wait is over; that may abort one too many, no more. An engine that does not say for whom it waits leaves the lock
 * timeout, which may abort all of them at once.
 *
 * <p>
 * <b>Members and epochs.</b> Classical two-phase commit blocks when a coordinator is lost. Here the decision, with the
 * changes, and the membership go through the same total order. A member that is gone is removed by a message; a restarted
 * replica that begins to coordinate announces its new life by one. Each such position, and each request that every replica executes,
 * begins an epoch. A decision counts only in the epoch that its sender saw when all had voted; otherwise it is
 * refused, at all replicas alike, and the coordinator, if it still lives, asks whom it has not asked in their present life and
 * tries again. So a decision of a life that is over cannot come late: what it prepared is dropped when the epoch
 * begins, and nobody waits for it for ever. Engines recover from the order alone, which holds the changes of all decisions.
 *
 * <p>
 * <b>Why that is snapshot isolation.</b> Let T of coordinator A commit at p, and U conflict with T and commit at u &lt; p
 * above T's snapshot. Replicas make positions visible in order, so snapshots are prefixes.
 * <ul>
 * <li>U was prepared at A and A delivered u before T locked the key there: T's engine refused the write, as U became
 * visible after T's snapshot (first updater wins); for keys that engines do not look after, {@link Coordinations#executed} finds U,
 * or refuses T for having begun before what is remembered.
 * <li>T had locked it before: U was not prepared at A before T's end, because locks at A exclude each other. So either A was
 * no member when U was decided, or its vote was of an earlier life. A's own membership began, then, in a later epoch than
 * U's, so A delivered u before it could decide T, found T in the way ({@link Coordinations#overrule}) and aborted it; or T's decision
 * was on its way already, in an earlier epoch than U's, and was refused.
 * </ul>
 * Votes repeat the epoch in which they were asked for, so that one of an earlier life is known. A prepared transaction is kept until
 * its end is known in the order: a coordinator that has ended it says after which position ({@link Ended}).
 *
 * <p>
 * <b>Why it is serializable with strict two-phase locking in the engines.</b> A read is locked where it happens, and conflicts
 * with every write of a member in the same way: reads and writes exclude each other until the end, which makes the history
 * serializable in order of position. It remains to see to what commits at u without having asked for locks at A: decided
 * when A was no member, or in its former life, or a request that every replica executes. Only A's engine knows which transactions
 * have read what that overwrites; it makes them {@link #victim}s before u becomes visible. A transaction T of A whose decision was on its
 * way when u was delivered is refused, as above. Every other one is not sent to be decided before u is visible, and so
 * is a victim first if it read what u overwrites. The same is true of what had asked for its locks here and lost them when its
 * commit failed in the engine, which makes it visible later all the same: who read in between had run when u had been delivered and
 * was not visible, and is not sent before u is.
 *
 * <p>
 * <b>Locks that are lost at home.</b> A client that waits no more has its transaction T rolled back in T's engine, and then nothing keeps others from
 * writing what T has read. {@link #locksLost} tells before they can. If T has not all votes it is aborted, since two-phase locking
 * needs all locks of a transaction held at one moment, and for T there would be none. If its decision is on its way there was such a moment, but T is to be
 * serialized at its position, which may be behind that of somebody who has got T's locks since. So until T is visible or refused nobody is voted
 * for here, and none is decided, whoever they are: with T's locks, they come behind T. They need not wait long, and not for one
 * another: T waits for nothing but the order. What has read here what T writes is a victim before T is visible, as above. Whose locks were held here before T lost
 * its own does not meet T, in whichever order the two commit.
 *
 * <p>
 * One thing is left: if the session of T dies while T waits for its decision its read locks are gone,
 * and nobody is told; then T is only as isolated as under snapshot isolation. Snapshot engines do not lock reads.
 */
public final class TwoPhaseCommit implements Protocol {
    /** The name in configurations. */
    public static final String NAME = "2pc";

    private static final long TICK_TIMER = 1;

    /**
     * Parameters; the same at every replica except {@code node}.
     *
     * @param node this replica
     * @param replicas all replicas, alive or not, this one included
     * @param tickNanos how often waits are told to the others and timeouts are looked at, in nanoseconds
     * @param lockTicks how many ticks a transaction waits for all votes before it is aborted
     * @param inquireTicks after how many ticks without news a participant asks for a transaction
     * @param keysMax how many keys of those that committed are remembered at most, at least 1
     */
    public record Parameters(int node, Set<Integer> replicas, long tickNanos, int lockTicks, int inquireTicks,
            int keysMax) {
        /** Ticks of 50 milliseconds; locks time out after 10 seconds, as in the TOM paper; inquiries after 2. */
        public static Parameters defaults(int node, Set<Integer> replicas) {
            return new Parameters(node, replicas, 50_000_000L, 200, 40, (int) CommonParameters.WINDOW_KEYS.normal());
        }

        public Parameters {
            replicas = Checks.replicas(node, replicas);
            Checks.keys(keysMax);
            if (tickNanos < 1 || lockTicks < 1 || inquireTicks < 1) {
                throw new IllegalArgumentException("tickNanos " + tickNanos + ", lockTicks " + lockTicks
                        + ", inquireTicks " + inquireTicks);
            }
        }
    }

    /** It commits at a position that is not visible yet; its locks are held until then. */
    private record Decided(long position, TransactionId transaction, boolean local) {}

    private final Parameters parameters;
    private final ReplicaWorld world;
    private final KeyLocks locks = new KeyLocks();
    private final CertificationIndex index = new CertificationIndex();
    private final Epochs epochs;
    private final Participations participations;
    private final Coordinations coordinations;
    private final WaitGraph waits;
    private final ArrayDeque<Decided> invisible = new ArrayDeque<>();
    /** By member that is to be removed. */
    private final TreeMap<Integer, RepeatedProposal> leaves = new TreeMap<>();
    private Set<Integer> alive;
    private boolean toldWaits;
    private boolean timerRuns;

    /** A replica at the beginning of the order. */
    public TwoPhaseCommit(Parameters parameters, ReplicaWorld world) {
        this.parameters = parameters;
        this.world = world;
        this.epochs = new Epochs(parameters.node(), parameters.replicas());
        this.participations = new Participations(world, locks);
        this.coordinations = new Coordinations(world, locks, participations, epochs, index);
        this.waits = new WaitGraph(parameters.inquireTicks());
        this.alive = parameters.replicas();
    }

    // ------------------------------------------------------------------------------------------ coordinator

    @Override
    public void submitted(TransactionId transaction, TransactionRequest request) {
        coordinations.submitted(transaction, request);
    }

    @Override
    public void executed(TransactionId transaction, Execution execution) {
        coordinations.executed(transaction, execution, invisible.isEmpty() ? 0 : invisible.getLast().position());
        tick();
    }

    @Override
    public void failed(TransactionId transaction, AbortReason.Failed cause) {
        if (participations.contains(transaction)) {
            participations.failed(transaction);
        } else {
            coordinations.failed(transaction, cause);
        }
    }

    @Override
    public void victim(TransactionId transaction, long forPosition) {
        coordinations.rolledBack(transaction, new AbortReason.Victim(forPosition));
    }

    @Override
    public void locksLost(TransactionId transaction) {
        coordinations.rolledBack(transaction, new AbortReason.Failed("unavailable"));
    }

    // ------------------------------------------------------------------------------------------ participant

    private void asked(Prepare prepare) {
        Epochs.Member coordinator = epochs.member(prepare.transaction().node());
        if (coordinator == null || coordinator.incarnation() <= prepare.transaction().incarnation()) {
            participations.asked(prepare, epochs.delivered());
            coordinations.giveWay(prepare.transaction(), prepare.writes().keys());
            tick();
        }
    }

    @Override
    public void prepared(TransactionId transaction) {
        participations.prepared(transaction, epochs.delivered());
    }

    @Override
    public void blocked(TransactionId transaction, Set<TransactionId> holders) {
        participations.blocked(transaction, holders);
    }

    // ------------------------------------------------------------------------------------------ the order

    @Override
    public void delivered(long position, int sender, Message message) {
        epochs.delivered(position);
        switch (message) {
            case Decide decide -> decide(position, decide);
            case Everywhere everywhere -> {
                epochs.begin();
                coordinations.overruledAt(position);
                note(everywhere.request().keys(), position);
                overrule(everywhere.transaction(), everywhere.request().keys(), position);
                world.execute(everywhere.transaction(), position, everywhere.request());
                commits(everywhere.transaction(), position);
            }
            case Join join -> {
                world.skip(position);
                dropPartsOf(join.node(), epochs.joined(join));
                coordinations.joined(join.node());
            }
            case Leave leave -> {
                world.skip(position);
                RepeatedProposal asked = leaves.get(leave.node());
                if (asked != null) {
                    asked.delivered(sender);
                }
                left(leave.node());
            }
            default -> throw new IllegalArgumentException("not an ordered message of " + NAME + ": " + message);
        }
        if (epochs.justBegan()) {
            participations.began(position);
        }
        tick();
    }

    private void decide(long position, Decide decide) {
        TransactionId transaction = decide.transaction();
        if (decide.epoch() != epochs.epoch()) {
            world.skip(position);
            coordinations.refused(transaction, position);
            return;
        }
        KeySet keys = decide.writes().keys();
        note(keys, position);
        boolean prepared = participations.decided(transaction);
        if (prepared || coordinations.canCommit(transaction)) {
            world.commit(transaction, position, decide.writes());
        } else {
            coordinations.overruledAt(position);
            overrule(transaction, keys, position);
            world.apply(transaction, position, decide.writes());
        }
        commits(transaction, position);
    }

    private void commits(TransactionId transaction, long position) {
        invisible.add(new Decided(position, transaction, coordinations.decided(transaction)));
    }

    private void note(KeySet keys, long position) {
        if (position > index.floor()) {
            index.note(keys, position);
            index.bound(parameters.keysMax());
        }
    }

    /** Something that did not ask for locks here commits: it has them from now on, and whoever had them gives way. */
    private void overrule(TransactionId winner, KeySet keys, long position) {
        if (!locks.holds(winner)) {
            locks.hold(winner, keys);
        }
        for (TransactionId holder : locks.inTheWay(winner, keys)) {
            if (!coordinations.overrule(holder, position) && participations.contains(holder)) {
                participations.giveWay(holder);
            }
        }
    }

    private void left(int node) {
        if (epochs.left(node)) {
            waits.forget(node);
            dropPartsOf(node, Long.MAX_VALUE);
            coordinations.left(node);
        }
    }

    private void dropPartsOf(int node, long life) {
        participations.dropThoseOf(of -> of.node() == node && of.incarnation() < life, epochs.delivered());
    }

    @Override
    public void committed(long position, long horizon) {
        index.forget(horizon);
        List<TransactionId> committed = new ArrayList<>();
        while (!invisible.isEmpty() && invisible.peek().position() <= position) {
            Decided decided = invisible.remove();
            locks.release(decided.transaction());
            committed.add(decided.transaction());
            if (decided.local()) {
                world.answer(decided.transaction(), new Outcome.Committed(decided.position()));
            }
        }
        coordinations.visible(position, committed);
        participations.grant();
    }

    // ------------------------------------------------------------------------------------------ deadlocks and timeouts

    @Override
    public void view(Set<Integer> nodes) {
        alive = Set.copyOf(nodes);
        removeLost();
        tick();
    }

    /** The lowest that is alive has the members removed that are not. */
    private void removeLost() {
        if (alive.stream().mapToInt(Integer::intValue).min().orElse(-1) == parameters.node()) {
            for (int node : epochs.members()) {
                if (!alive.contains(node)) {
                    leaves.computeIfAbsent(node, _ -> new RepeatedProposal(parameters.node(), world))
                            .order(new Leave(node));
                }
            }
        }
    }

    private void tick() {
        if (!timerRuns && (!coordinations.all().isEmpty() || !participations.isEmpty() || toldWaits
                || !alive.containsAll(epochs.members()))) {
            timerRuns = true;
            world.timer(TICK_TIMER, parameters.tickNanos());
        }
    }

    @Override
    public void timer(long timer) {
        timerRuns = false;
        waits.tick();
        removeLost();
        coordinations.tick(parameters.lockTicks());
        participations.dropThoseOf(epochs::isOver, epochs.delivered());
        participations.tick(parameters.inquireTicks());
        tellWaits();
        tick();
    }

    private void tellWaits() {
        List<Wait> mine = participations.waits();
        if (!mine.isEmpty() || toldWaits) {
            toldWaits = !mine.isEmpty();
            Set<Integer> others = epochs.others();
            if (!others.isEmpty()) {
                world.multicast(new Waits(mine), others);
            }
            waits.told(parameters.node(), mine);
            breakDeadlocks();
        }
    }

    /** A transaction of this replica that waits for others which wait for it is aborted if it is the one to give way. */
    private void breakDeadlocks() {
        coordinations.breakDeadlocks(waits.givingWay(coordinations.all()));
    }

    @Override
    public void received(int sender, Message message) {
        switch (message) {
            case Prepare prepare -> asked(prepare);
            case Vote vote -> coordinations.voted(sender, vote);
            case Ended ended -> {
                if (epochs.delivered() >= ended.after()) {
                    participations.ended(ended.transaction());
                }
            }
            case Inquire inquire -> inquired(sender, inquire.transaction());
            case Waits told -> {
                if (epochs.members().contains(sender)) {
                    waits.told(sender, told.waits());
                    breakDeadlocks();
                }
            }
            default -> throw new IllegalArgumentException("not a multicast message of " + NAME + ": " + message);
        }
    }

    private void inquired(int sender, TransactionId transaction) {
        if (coordinations.all().contains(transaction)) {
            return;
        }
        if (transaction.incarnation() == coordinations.incarnation()) {
            world.multicast(new Ended(transaction, epochs.delivered()), Set.of(sender));
        } else if (!epochs.takesPart(transaction.incarnation() + 1)) {
            // Of a former life, whose decision may still be on its way: the order is to say that it is over.
            coordinations.join(transaction.incarnation() + 1);
        }
    }

    // ------------------------------------------------------------------------------------------ the rest of the seam

    @Override
    public int remembered() {
        return index.live();
    }

    @Override
    public byte[] snapshot() {
        return epochs.snapshot().bytes();
    }

    @Override
    public void restore(byte[] snapshot) {
        epochs.restore(Snapshots.open(snapshot, Epochs.Snapshot.class));
    }
}
