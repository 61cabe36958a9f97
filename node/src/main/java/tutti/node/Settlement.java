package tutti.node;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;
import tutti.core.spi.Completion;
import tutti.core.spi.CopyNeededException;
import tutti.core.spi.Engine;
import tutti.core.spi.EngineFailure;
import tutti.node.Ballots.Ballot;
import tutti.node.Ballots.Verdict;
import tutti.node.Control.Vote;

/**
 * This node's part in {@link Ballots}: asks the others about what its engine refuses, answers what they ask, and does as is
 * decided. Of the replica's loop.
 *
 * <p>
 * <b>Trouble of its own.</b> While its database is in trouble the node tries again and again, shows that it waits, and accepts no writes.
 * What it says of the position meanwhile is no vote against it. But that it has never made what each node executes may leave that out at any time. So it
 * tries that again only when it has taken its word back, in the order, and nothing was decided up to there; who waits for its word has
 * twice as much time for that with each try.
 *
 * <p>
 * <b>What a node says is so.</b> It says that it has made a position's effects only when they are visible in its engine, and
 * that it cannot only when it stands before them. A crash may take back what was visible and not durable; then the node comes to
 * the position again, and if it cannot make it this time says so, which counts instead, or is too late.
 *
 * <p>
 * <b>Whose database is right.</b> A position that is left out here is recorded as that in the engine, in one transaction with the
 * position. So whenever a verdict is delivered, in this life or a later one that begins before it, the node can tell whether
 * its engine is as the verdict says, whichever database it was given a copy of. An engine need not remember that for longer than
 * {@link Engine#SKIPPED_KEPT} positions. Of an older one its own vote tells when the verdict is delivered, and whoever is excluded by that takes no
 * snapshot behind the verdict: its next life is delivered it again.
 *
 * <p>
 * <b>What an earlier life has made and lost.</b> Its vote stands, so all others take this node for one that has made the effects, and nothing counts
 * that its present life sends behind the verdict. If its engine is before the position, or has recorded that this was left out, its database is
 * right: the life ends, and the next one counts.
 *
 * <p>
 * <b>Memory.</b> A node that waits for a verdict goes on to be delivered what it cannot apply. When that is as much as it may keep, it
 * only listens: what the protocol is sent is dropped, and with the verdict the life ends. The next one knows the verdict from a
 * file before it is delivered it, and is delivered all else once more.
 *
 * <p>
 * <b>Who stands behind.</b> A node that cannot make what holds everywhere ends its life, and all clients' sessions with it: what
 * they keep in their sessions (temporary views) may be what is in the way. The next life tries again for as long as it takes, and is
 * not ready before that.
 */
final class Settlement {
    private static final Logger LOG = LoggerFactory.getLogger(Settlement.class);

    /** So long a verdict may take before people are told of it, and writes are refused. */
    private static final long PATIENCE_NANOS = 1_000_000_000L;

    /** So long the word of a node that it has never made something stands at first, and how often that doubles. */
    private static final long WORD_NANOS = 500_000_000L;
    private static final int DOUBLED_MAX = 7;

    /** What of the node is needed here. */
    interface Node {
        CommitPipeline pipeline();

        ClientTransactions transactions();

        Outcomes outcomes();

        /** Has all nodes told something, in the order. */
        void send(Control control);

        void schedule(long delayNanos, Runnable task);

        /** Whether so much has been delivered and not applied that deliveries wait. */
        boolean isFull();

        /** Whether it serves clients. */
        boolean isReady();

        /** Other nodes take part, or no longer do. */
        void membersChanged();

        /** A node's database is in trouble, so that it does not go beyond what is before a position. */
        void isTroubled(int number, long position);

        /** A node has come to a position, if its database was in trouble before. */
        void isBeyond(int number, long position);

        /** This node holds what others do not. */
        void exclude(Throwable cause);

        /** The node cannot go on. */
        void fail(Throwable cause, boolean restartable);
    }

    private final ControlMessages.Life life;
    private final NodeFiles files;
    private final Ballots ballots;
    private final Node node;
    /**
     * First verdicts on positions that are not visible here: what this life was delivered, of which {@link Ballots} may have forgotten
     * some before it comes to them, and what an earlier life was, and this one may be later.
     */
    private final TreeMap<Long, Ballot> foreseen = new TreeMap<>();
    /** Positions that the engine has recorded as left out. */
    private final TreeSet<Long> leftOut = new TreeSet<>();
    /** What this life has said last of open ballots. */
    private final Map<Long, Vote> said = new HashMap<>();
    private long visible;
    /** Position at which the order heard of this life; no earlier life was delivered what is behind it. */
    private long joinedAt = Long.MAX_VALUE;
    /** What the engine has refused last, while it is next; 0 if it has refused nothing. */
    private long refused;
    /** The position at which this life has said that the database is in trouble, while others do not know it to be over; otherwise 0. */
    private long troubledAt;
    /** How often it has taken back its word about that. */
    private int takenBack;
    private boolean listens;
    /** Whether this life has been. */
    private boolean excluded;
    private volatile @Nullable String waits;

    Settlement(ControlMessages.Life life, NodeFiles files, Ballots ballots, Node node) {
        this.life = life;
        this.files = files;
        this.ballots = ballots;
        this.node = node;
    }

    /**
     * The engine has told what it holds.
     *
     * @param recorded positions up to there that were left out
     * @throws IOException if the node's files cannot be read
     */
    void recovered(long position, Set<Long> recorded) throws IOException {
        visible = position;
        leftOut.addAll(recorded);
        files.verdicts().stream().filter(ballot -> ballot.position() > position)
                .forEach(ballot -> foreseen.put(ballot.position(), ballot));
    }

    /** The order has heard of this life, at a position: what it says from now on counts. */
    void joined(long position) {
        joinedAt = position;
        for (Ballot ballot : ballots.closed(0, visible)) {
            hold(ballot, false);
        }
        answer();
    }

    /** For what a position keeps this node waiting, for people; null if none does. Any thread. */
    @Nullable
    String waits() {
        return waits;
    }

    List<ReplicaNode.Position> positions() {
        return ballots.all().stream().map(ballot -> new ReplicaNode.Position(ballot.position(), ballot.transaction(),
                ballot.everywhere(), ballot.sqlState(), ballot.message(), words(ballot.votes()),
                ballot.verdict().toString()))
                .toList();
    }

    private static Map<Integer, String> words(Map<Integer, Vote> votes) {
        Map<Integer, String> words = new HashMap<>();
        votes.forEach((node, vote) -> words.put(node, switch (vote) {
            case MADE -> "made";
            case REFUSED -> "refused";
            case TROUBLED, NEVER_MADE -> "trouble";
        }));
        return words;
    }

    void decide(long position, boolean holds, Completion<Void> done) {
        Ballot ballot = ballots.of(position);
        if (ballot == null) {
            done.failed(new EngineFailure("55000", "no node has said that it cannot apply position " + position,
                    false));
        } else if (ballot.verdict() != Verdict.OPEN) {
            done.failed(new EngineFailure("55000", "position " + position + " is decided already: its effects "
                    + (ballot.verdict() == Verdict.HOLDS ? "hold" : "are left out"), false));
        } else {
            node.send(new Control.Decided(position, holds));
            done.succeeded(null);
        }
    }

    private @Nullable Ballot ballot(long position) {
        Ballot first = foreseen.get(position);
        return first == null ? ballots.of(position) : first;
    }

    // ------------------------------------------------------------------------------------------ what happens here

    /**
     * The engine refuses what is next.
     *
     * @param tables that it changes, if some nodes lack one of them; otherwise empty
     */
    void refused(Slot slot, Set<Long> tables, EngineFailure why) {
        long position = slot.position();
        boolean everywhere = slot.kind() == Slot.Kind.BARRIER;
        if (everywhere && why.needsCopy()) {
            // Nothing that the others have to judge: they have the rows.
            node.fail(new CopyNeededException("position " + position + " has this node keep more: " + why.message()),
                    false);
            return;
        }
        Ballot ballot = ballot(position);
        Verdict verdict = ballot == null ? Verdict.OPEN : ballot.verdict();
        // Clients see it, who need not be allowed to see the rows that an error may name.
        String what = "position " + position + " cannot be applied here (" + why.sqlState()
                + ", see `tutti position show`); ";
        if (refused != position) {
            tell(everywhere, "position " + position + " cannot be applied here: " + why.message());
            takenBack = 0;
        }
        refused = position;
        switch (verdict) {
            case OPEN -> {
                Control.Inapplicable told = inapplicable(slot, why, vote(position, why));
                say(position, told.vote(), everywhere, to(tables, told));
                if (why.isTrouble()) {
                    troubledAt = position;
                    inTrouble(what, () -> tryAgain(told));
                    return;
                }
                node.schedule(PATIENCE_NANOS, () -> {
                    if (refused == position && waits == null) {
                        waits = what + "the nodes decide what becomes of it, and some have not said anything yet";
                        LOG.warn("node {}: {}", life.node(), waits);
                    }
                });
            }
            case HOLDS -> {
                if (why.isTrouble()) {
                    if (troubledAt != position) {
                        // What it says of the position counts no more, but that it is in trouble does.
                        troubledAt = position;
                        node.send(to(tables, inapplicable(slot, why, Vote.TROUBLED)));
                    }
                    inTrouble(what, () -> node.pipeline().tryAgain(position));
                } else {
                    behind(position, what + "at most nodes it is, so this one tries again until it can, or until"
                            + " it is given a copy of another node's database");
                }
            }
            case SKIPPED -> node.pipeline().leaveOut(position);
        }
    }

    private Control.Inapplicable inapplicable(Slot slot, EngineFailure why, Vote vote) {
        return new Control.Inapplicable(slot.position(),
                node.outcomes().withNames(node.transactions().included().all(slot.position(), slot.transaction())),
                slot.kind() == Slot.Kind.BARRIER, cut(why.sqlState(), Control.Inapplicable.STATE_BYTES_MAX),
                cut(why.message(), Control.Inapplicable.MESSAGE_BYTES_MAX), vote);
    }

    private static Control to(Set<Long> tables, Control.Inapplicable told) {
        return tables.isEmpty() ? told : new Control.InapplicableToKeepers(told, tables);
    }

    private Vote vote(long position, EngineFailure why) {
        if (why.isTrouble()) {
            return position > joinedAt ? Vote.NEVER_MADE : Vote.TROUBLED;
        }
        return Vote.REFUSED;
    }

    private static String cut(String text, int bytesMax) {
        // A character takes up to three bytes, a pair of them four.
        int charactersMax = text.chars().allMatch(each -> each < 0x80) ? bytesMax : bytesMax / 3;
        return text.length() <= charactersMax ? text : text.substring(0, charactersMax);
    }

    private void say(long position, Vote vote, boolean everywhere, Control control) {
        if (vote != said.put(position, vote)) {
            tell(everywhere, control);
            node.send(control);
        }
    }

    /** That a statement is refused everywhere is nothing that an operator must know. */
    private void tell(boolean everywhere, Object what) {
        LOG.atLevel(everywhere ? Level.DEBUG : Level.WARN).log("node {}: {}", life.node(), what);
    }

    private void behind(long position, String what) {
        if (node.isReady()) {
            node.fail(new ReplicaNode.BehindException(what + "; it begins anew without its clients' sessions"), true);
            return;
        }
        waitFor(what);
        node.pipeline().tryAgain(position);
    }

    private void inTrouble(String what, Runnable tryAgain) {
        waitFor(what + "the database is in trouble, and it is tried again until that is over");
        tryAgain.run();
    }

    private void tryAgain(Control.Inapplicable told) {
        if (told.everywhere() && told.vote() == Vote.NEVER_MADE) {
            node.schedule(WORD_NANOS << Math.min(takenBack++, DOUBLED_MAX), () -> takeBack(told));
        } else {
            node.pipeline().tryAgain(told.position());
        }
    }

    private void waitFor(String what) {
        if (!what.equals(waits)) {
            LOG.warn("node {}: {}", life.node(), what);
        }
        waits = what;
    }

    /** Nobody may rest on it any more that the effects were never made here: they are tried again when that is delivered. */
    private void takeBack(Control.Inapplicable told) {
        if (refused == told.position() && isOpen(refused)) {
            say(refused, Vote.TROUBLED, true, new Control.Inapplicable(refused, told.transactions(), true,
                    told.sqlState(), told.message(), Vote.TROUBLED));
        }
    }

    private boolean isOpen(long position) {
        Ballot ballot = ballot(position);
        return ballot == null || ballot.verdict() == Verdict.OPEN;
    }

    /** The error for which a position is left out; null if it is not. */
    @Nullable
    EngineFailure leftOut(long position) {
        if (foreseen.isEmpty() && !ballots.skipped(position)) {
            return null;
        }
        Ballot ballot = ballot(position);
        return ballot == null || ballot.verdict() != Verdict.SKIPPED ? null : ballot.failure();
    }

    /** Whether the nodes have decided that a position's effects hold. */
    boolean holds(long position) {
        Ballot ballot = ballot(position);
        return ballot != null && ballot.verdict() == Verdict.HOLDS;
    }

    /** Whether the engine has recorded that a position which it holds was left out. */
    boolean wasLeftOut(long position) {
        return leftOut.contains(position);
    }

    /** Whether the protocol is told nothing any more in this life, since the node can keep no more until a verdict comes. */
    boolean listens() {
        if (listens || refused == 0 || !node.isFull()) {
            return listens;
        }
        Ballot ballot = ballot(refused);
        if (ballot == null || ballot.verdict() == Verdict.OPEN) {
            LOG.warn("node {}: it can keep no more before it hears what becomes of position {}, and only listens",
                    life.node(), refused);
            listens = true;
        }
        return listens;
    }

    /** A position is left out, and will be visible next. */
    void leavesOut(long position) {
        leftOut.add(position);
        leftOut.headSet(position - Engine.SKIPPED_KEPT).clear();
    }

    /** All up to a position is visible. */
    void visible(long position) {
        if (listens) {
            // What was delivered meanwhile was dropped.
            beginAnew("could be applied");
            return;
        }
        visible = position;
        refused = 0;
        waits = null;
        Map<Long, Ballot> past = foreseen.headMap(position, true);
        past.values().forEach(ballot -> hold(ballot, false));
        past.clear();
        answer();
        if (troubledAt > 0 && troubledAt <= position) {
            sayThatItIsOver(troubledAt);
            troubledAt = 0;
        }
    }

    /** The database was in trouble at a position, and has come to it. In an open ballot that is said anyhow, and where it is left out everybody knows. */
    private void sayThatItIsOver(long position) {
        Ballot ballot = ballots.of(position);
        if (ballot == null || ballot.verdict() == Verdict.HOLDS) {
            node.send(new Control.Applied(position));
        }
    }

    // ------------------------------------------------------------------------------------------ what is delivered

    void delivered(int sender, Control.Inapplicable told, Set<Long> tables) {
        closed(ballots.inapplicable(sender, told, tables));
        if (told.vote() == Vote.REFUSED) {
            node.isBeyond(sender, told.position());
        } else {
            node.isTroubled(sender, told.position());
        }
        boolean takenBackHere = sender == life.node() && told.everywhere() && told.vote() == Vote.TROUBLED;
        if (takenBackHere && told.position() == refused && isOpen(refused)) {
            node.pipeline().tryAgain(refused);
        }
        answer();
        if (sender == life.node() && told.vote() != Vote.REFUSED && told.position() <= visible) {
            sayThatItIsOver(told.position()); // it was before that was heard
        }
    }

    void delivered(int sender, Control.Applied told) {
        closed(ballots.applied(sender, told.position()));
        node.isBeyond(sender, told.position());
    }

    void delivered(Control.Decided told) {
        closed(ballots.decided(told.position(), told.holds()));
    }

    /** A node says that it holds what others do not. */
    void excludes(int node) {
        closed(ballots.exclude(node));
        this.node.membersChanged();
    }

    /** Other tables are placed on some nodes only than before: others may vote. */
    void placed() {
        closed(ballots.placed());
    }

    /** These decide, as of the snapshot that the node begins with. */
    void recovered(Set<Integer> voters) {
        ballots.recovered(voters);
        node.membersChanged();
    }

    /** These decide from here on. */
    void membersChanged(Set<Integer> voters) {
        closed(ballots.voters(voters));
        node.membersChanged();
    }

    private void closed(List<Ballot> decided) {
        decided.forEach(this::closed);
    }

    private void closed(Ballot ballot) {
        tell(ballot.everywhere() && ballot.holders().isEmpty(), ballot);
        said.remove(ballot.position());
        if (ballot.verdict() == Verdict.SKIPPED) {
            if (!ballot.everywhere()) {
                ballot.transactions().forEach(node.outcomes()::undone);
            }
            for (int holder : ballot.holders()) {
                node.outcomes().fence(holder, node.outcomes().lastLife(holder));
            }
            node.membersChanged();
        }
        boolean madeHere = ballot.verdict() == Verdict.SKIPPED && ballot.holders().contains(life.node());
        if (ballot.position() <= visible) {
            hold(ballot, madeHere);
        } else if (listens) {
            // What became of others is kept as well, but a life that goes no further than this position would hear it again.
            if (ballot.position() == refused) {
                beginAnew("was decided");
            }
        } else {
            foreseen.putIfAbsent(ballot.position(), ballot);
            if (ballot.verdict() == Verdict.SKIPPED) {
                node.pipeline().leaveOut(ballot.position());
            } else {
                node.pipeline().tryAgain(ballot.position());
            }
        }
        if (madeHere && joinedAt != Long.MAX_VALUE && !excluded) {
            node.fail(new ReplicaNode.BehindException("an earlier life of this node had made the effects of position "
                    + ballot.position()
                    + ", which are left out, and so nothing counts that this one sends; it begins anew"),
                    true);
        }
    }

    private void beginAnew(String why) {
        ballots.all().stream().filter(each -> each.verdict() != Verdict.OPEN && each.position() > visible)
                .forEach(each -> foreseen.putIfAbsent(each.position(), each));
        try {
            files.keepVerdicts(foreseen.values().stream().limit(Ballots.CLOSED_MAX).toList());
        } catch (IOException broken) {
            node.fail(broken, false);
            return;
        }
        node.fail(new ReplicaNode.BehindException("position " + refused + " " + why
                + " when the node could keep no more behind it; it begins anew"), true);
    }

    /**
     * Says of open ballots what this node has made, or left out, unless it has. The latter are open again: a node's word came when the verdict
     * was forgotten.
     */
    private void answer() {
        for (Ballot ballot : ballots.open()) {
            long position = ballot.position();
            if (position > visible || !ballots.concerns(ballot, life.node())) {
                continue;
            }
            if (leftOut.contains(position)) {
                if (ballots.asked(ballot).contains(life.node())) {
                    say(position, Vote.REFUSED, ballot.everywhere(), ballot.refused());
                }
            } else if (ballot.votes().get(life.node()) != Vote.MADE) {
                say(position, Vote.MADE, false, new Control.Applied(position));
            }
        }
    }

    /**
     * Holds a verdict against what is visible here.
     *
     * @param madeHere whether this node's own vote, which stood until now, says that the effects are here
     */
    private void hold(Ballot ballot, boolean madeHere) {
        if (ballot.verdict() == Verdict.SKIPPED && !leftOut.contains(ballot.position())
                && ballots.concerns(ballot, life.node())
                && (madeHere || ballot.position() >= visible - Engine.SKIPPED_KEPT)) {
            excluded = true;
            node.exclude(new IllegalStateException("this node has made the effects of position " + ballot.position()
                    + " (" + ballot.transaction() + "), which most nodes cannot (" + ballot.sqlState()
                    + ", see `tutti position show`); they are left out, so it serves nobody until it is given a copy of"
                    + " another node's database"));
        }
    }
}
