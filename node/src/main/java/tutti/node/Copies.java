package tutti.node;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.Group;
import tutti.runtime.Loop;

/**
 * This node's part in copies that nodes give to each other: it says in the order that a node begins anew, and takes what that
 * begins with, at a position that all which has been promised to anybody lies before. Of the replica's loop.
 *
 * <p>
 * <b>Why copy and log agree.</b> The snapshot is taken when the node's message has come back, at the position d that was delivered last
 * then. The copy of the database is begun when all up to d can be seen in it, and ends up with the effects of some position from d on.
 * What it knows of that ({@link Engine#appliedPosition}) may be less than d if nothing was made at d and those before it; so the
 * engine is asked, and if it knows of less, an earlier snapshot is given, as this node itself would begin with now. The log is kept
 * from the position on that this node has told that it would need, which is no later ({@link CopyRetention}). So the receiver begins as this
 * node would after a crash: with a snapshot that its database has reached, and the log behind it.
 */
final class Copies {
    private static final Logger LOG = LoggerFactory.getLogger(Copies.class);
    /** So long the engine is given to record a position as late as the snapshot's. */
    private static final long ENGINE_NANOS = 200_000_000L;

    /** What of the node is needed here. */
    interface Node {
        /** Has all nodes told something, in the order. */
        void send(Control control);

        /** Why the node cannot serve; null if it can. */
        @Nullable
        String refusal();

        /** Whether there is such a node. */
        boolean isMember(int number);

        /** All nodes of the cluster. */
        Set<Integer> members();

        /** Whom it reaches. */
        Group.View view();

        /** All up to here can be seen in the database. */
        long visible();

        /** The protocol has been told all up to here. */
        long deliveredPosition();

        void schedule(long delayNanos, Runnable task);

        /** The node cannot go on. */
        void fail(Throwable cause, boolean restartable);
    }

    /** One that is being prepared. */
    private static final class Begun {
        final long number;
        final int receiver;
        final long directory;
        final Completion<StateCopy> done;
        boolean ordered;
        @Nullable
        StateCopy taken;
        boolean awaitsEngine;

        Begun(long number, int receiver, long directory, Completion<StateCopy> done) {
            this.number = number;
            this.receiver = receiver;
            this.directory = directory;
            this.done = done;
        }
    }

    private final int self;
    private final Placements placements;
    private final Engine engine;
    private final Loop loop;
    private final NodeFiles files;
    private final Snapshots snapshots;
    private final Outcomes outcomes;
    private final LogKeeping logKeeping;
    private final CopyRetention retention;
    private final Group group;
    private final Node node;
    private @Nullable Begun begun;
    private long lastNumber;
    /** By node: where it was said last, since this life began, that the node begins anew. */
    private final Map<Integer, Long> replacedAt = new HashMap<>();

    Copies(int self, Placements placements, Engine engine, Loop loop, NodeFiles files, Snapshots snapshots,
            Outcomes outcomes, LogKeeping logKeeping, Group group, Node node) {
        this.self = self;
        this.placements = placements;
        this.engine = engine;
        this.loop = loop;
        this.files = files;
        this.snapshots = snapshots;
        this.outcomes = outcomes;
        this.logKeeping = logKeeping;
        this.retention = logKeeping.copy();
        this.group = group;
        this.node = node;
    }

    /** As {@link ReplicaNode#copy}. */
    void begin(int receiver, long directory, Completion<StateCopy> done) {
        String refusal = node.refusal();
        if (refusal == null && !node.isMember(receiver)) {
            refusal = "node " + receiver + " is no member: add it first (`tutti nodes add`)";
        }
        if (refusal == null && node.view().members().contains(receiver)) {
            refusal = "node " + receiver + " takes part in the order: stop it first";
        }
        if (refusal == null) {
            refusal = lacks(receiver);
        }
        if (refusal != null) {
            done.failed(new EngineFailure("57P03", refusal, true));
            return;
        }
        LOG.info("node {} gives node {} a copy", self, receiver);
        prepare(receiver, directory, done);
        node.send(new Control.Replaced(receiver, directory, outcomes.lastLife(receiver), node.deliveredPosition()));
    }

    private @Nullable String lacks(int receiver) {
        return placements.donors(receiver, List.of(self)).isEmpty()
                ? "node " + receiver + " keeps tables that this node lacks: only nodes "
                        + placements.donors(receiver, node.members()) + " can give it a copy"
                : null;
    }

    /** Begins to prepare one, in place of any other. */
    private Begun prepare(int receiver, long directory, Completion<StateCopy> done) {
        Begun before = begun;
        Begun now = new Begun(++lastNumber, receiver, directory, done);
        begun = now;
        retention.begin(receiver, now.number);
        if (before != null) {
            failed(before, "another copy was asked for");
        }
        return now;
    }

    /** What is being prepared, if anything, is given up. */
    void abandon(String why) {
        Begun before = begun;
        begun = null;
        if (before != null) {
            failed(before, why);
        }
    }

    private void failed(Begun of, String why) {
        retention.end(of.number, false);
        of.done.failed(new EngineFailure("57P03", why, true));
    }

    /** As {@link ReplicaNode#backUp}. */
    void backUp(Completion<StateCopy> done) {
        String refusal = node.refusal();
        if (refusal == null && (begun != null || retention.isMaking())) {
            refusal = "the node gives a copy already; try again when that is made";
        }
        if (refusal != null) {
            done.failed(new EngineFailure("57P03", refusal, true));
            return;
        }
        LOG.info("node {} is backed up", self);
        prepare(ReplicaNode.BACKUP, 0, done).ordered = true;
        delivered(node.deliveredPosition());
    }

    /** As {@link ReplicaNode#copied}. */
    void end(StateCopy copy, boolean complete) {
        retention.end(copy.number(), complete);
    }

    /** A node begins anew with a copy, if this is not late. */
    void replaced(long position, int sender, Control.Replaced told) {
        boolean late = outcomes.lastLife(told.node()) > told.life();
        if (!late) {
            group.replaced(told.node(), told.directory(), told.since(), position);
            logKeeping.beginsAnew(told.node());
        }
        Long before = replacedAt.put(told.node(), position);
        late |= before != null && before > told.since();
        if (late) {
            LOG.info("node {}: the message at position {} that node {} gives node {} a copy comes too late to count",
                    self, position, sender,
                    told.node());
        }
        Begun now = begun;
        if (now != null && sender == self && told.node() == now.receiver && told.directory() == now.directory) {
            // It may have been placed meanwhile, or before in the order, what this node had not been delivered yet.
            String lacks = lacks(now.receiver);
            if (late || lacks != null) {
                abandon(late
                        ? "node " + now.receiver + " has begun meanwhile, or another node gives it a copy; ask again"
                        : String.valueOf(lacks));
            } else {
                now.ordered = true;
            }
        }
    }

    /** The protocol has been told all up to a position, and done what it would. */
    void delivered(long position) {
        Begun now = begun;
        if (now != null && now.ordered && now.taken == null) {
            now.taken = new StateCopy(position, snapshots.take(position), outcomes.lastLife(now.receiver), now.number);
            visible(node.visible());
        }
    }

    /** All up to a position can be seen. */
    void visible(long position) {
        Begun now = begun;
        if (now != null && now.taken != null && now.taken.position() <= position && !now.awaitsEngine) {
            now.awaitsEngine = true;
            node.schedule(ENGINE_NANOS, () -> askEngine(now));
        }
    }

    private void askEngine(Begun now) {
        if (begun == now) {
            engine.appliedPosition(new LoopCompletion<>(loop, held -> taken(now, held),
                    failure -> abandon("the database does not tell its position: " + failure.message())));
        }
    }

    private void taken(Begun now, long held) {
        if (begun != now || now.taken == null) {
            return;
        }
        begun = null;
        try {
            now.done.succeeded(held >= now.taken.position()
                    ? now.taken.as(snapshots::complete)
                    : earlier(now, held));
        } catch (IOException broken) {
            retention.end(now.number, false);
            now.done.failed(new EngineFailure("58030", String.valueOf(broken.getMessage()), true));
            node.fail(broken, false);
        }
    }

    private StateCopy earlier(Begun now, long held) throws IOException {
        long lastLife = outcomes.lastLife(now.receiver);
        return files.newestUpTo(held)
                .map(snapshot -> new StateCopy(snapshot.position(), snapshot.state(), lastLife, now.number))
                .orElseGet(() -> new StateCopy(0, new byte[0], lastLife, now.number));
    }
}
