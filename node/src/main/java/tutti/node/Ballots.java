package tutti.node;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.TablePlacement;
import tutti.core.txn.TransactionId;
import tutti.node.Control.Vote;

/**
 * What nodes say of positions whose effects some of them cannot make, and what follows from that: whether the effects hold at
 * all nodes or at none.
 *
 * <p>
 * <b>How it goes.</b> A node that cannot make a position's effects says so in the order and goes no further
 * ({@link Control.Inapplicable}). That opens a ballot. A node that has made them says that ({@link Control.Applied}), sooner or
 * later; it need not wait. The last word of each node counts, until the ballot is closed.
 *
 * <p>
 * <b>What follows.</b> The voters are all {@linkplain Members#voters members} as of the position that was delivered last, present or not,
 * but for those that are {@linkplain #excluded excluded}. A ballot is
 * closed
 * <ul>
 * <li>by a majority of them who have made the effects, or whose engines refuse them;
 * <li>if all have said the one or the other and neither has a majority: the effects hold, since those who wait may yet make them and
 * nothing that was acknowledged is lost; unless nobody but the origin of a write set has made them, who then gives way;
 * <li>if all have spoken of what each node executes, and none has ever made it: then nobody was told of success;
 * <li>by hand ({@link Control.Decided}), as long as it is open.
 * </ul>
 * It is never opened again.
 *
 * <p>
 * <b>Trouble is no vote.</b> Of a node whose database is in trouble (a full disk) nobody knows what it would say. It tries again
 * until its trouble is over, and speaks then. If it counted as a refusal, as many full disks as make a majority would have
 * transactions undone that were acknowledged. A statement that fills the disk of each node that executes it is left out by the last
 * rule: a life of a node that was delivered it after it began has not made it, and so has told nobody that it has.
 *
 * <p>
 * <b>Tables that some nodes lack.</b> Of a write set that changes some, those vote who keep one at least of the tables that it changes: the others
 * have made nothing, and would outvote who has something to lose. A majority may then have made a part each, and nobody the whole. So effects hold
 * only if of each table that they change a keeper has made them, from whom the others can have a copy; and they are left out only if each
 * who has made them can have a copy of somebody who has not. If neither is so when all have spoken, the ballot stays open for somebody to
 * decide by hand which tables are worth more.
 *
 * <p>
 * <b>Why nodes do not differ afterwards.</b> Everything here is a function of the delivered prefix, so all nodes come to the same
 * verdict. Behind it a node that serves either has acted as the verdict says, or cannot go on serving: one that has not made
 * effects that hold stands before that position, and so shows a prefix of what the others show; one that has made effects that
 * do not is excluded: none of its messages counts from the verdict on, and it serves nobody until in a later life its database
 * is right ({@link Settlement}); one that had made them in an earlier life and has lost them since
 * begins another, which serves. By one verdict at most a minority of the voters is, except in a tie, by hand, or
 * where of a table that some nodes lack no keeper has made its part and the others have made theirs.
 *
 * <p>
 * <b>What is lost.</b> An origin that gives way has told its client of success. So have nodes that a verdict by hand goes against. That
 * transaction is then undone, and with it those later ones that cannot be made without it, by ballots of their own: those that change a
 * row of it, which engines find, those that refer to one ({@link LostKeys}), and those that take away what one of them refers to still
 * ({@link LostReleases}).
 *
 * <p>
 * For one thread at a time.
 */
final class Ballots {
    /**
     * Closed ballots that are remembered. A node that was delivered a verdict keeps it until it comes to the position ({@link Settlement}),
     * however many follow; what it says of the position after that was forgotten opens another ballot, which is closed by those who have left it
     * out, as the first was.
     */
    static final int CLOSED_MAX = 1000;

    /** How a ballot stands. */
    enum Verdict {
        /** Not decided yet: nobody who has not made the effects goes on. */
        OPEN,
        /** The effects hold: who has not made them yet must. */
        HOLDS,
        /** The effects are left out everywhere. */
        SKIPPED
    }

    /**
     * What is known of one position.
     *
     * @param transactions as in {@link Control.Inapplicable}
     * @param everywhere whether each node executes it by itself; if not, its own node has, and the others have its changes
     * @param sqlState of the error of the first node that said so
     * @param message likewise
     * @param votes by node: what it says of the effects
     * @param tables that are changed, if some nodes lack one of them; otherwise empty
     */
    record Ballot(long position, List<TransactionId> transactions, boolean everywhere, String sqlState,
            String message, Map<Integer, Vote> votes, Verdict verdict, Set<Long> tables) {
        static final Schema<Ballot> SCHEMA = Schema.part("ballot", Ballot.class).of(
                Field.of("position", Types.NATURAL, Ballot::position),
                Field.of("transactions", Control.Inapplicable.TRANSACTIONS, Ballot::transactions),
                Field.of("everywhere", Types.BOOLEAN, Ballot::everywhere),
                Field.of("sql state", Types.text(Control.Inapplicable.STATE_BYTES_MAX), Ballot::sqlState),
                Field.of("message", Types.text(Control.Inapplicable.MESSAGE_BYTES_MAX), Ballot::message),
                Field.of("votes", Types.map(Types.u8(0, 255), Types.oneOf(Vote.class), 256), Ballot::votes),
                Field.of("verdict", Types.oneOf(Verdict.class), Ballot::verdict),
                (position, transactions, everywhere, sqlState, message, votes, verdict) -> new Ballot(position,
                        transactions, everywhere, sqlState, message, votes, verdict, Set.of()));

        /** Keeps a copy. */
        Ballot {
            votes = new TreeMap<>(votes);
            transactions = List.copyOf(transactions);
            tables = Set.copyOf(tables);
        }

        private Ballot of(Set<Long> changed) {
            return new Ballot(position, transactions, everywhere, sqlState, message, votes, verdict, changed);
        }

        /** Whether a node has something to make of them. */
        private boolean concerns(int node, TablePlacement placement) {
            return tables.isEmpty() || placement.keepsAny(node, tables);
        }

        /** Under whose name they are. */
        TransactionId transaction() {
            return transactions.getFirst();
        }

        /** The error that opened it. */
        EngineFailure failure() {
            return new EngineFailure(sqlState, message, false);
        }

        /** What a node says that has not made the effects and will not. */
        Control refused() {
            Control.Inapplicable told = new Control.Inapplicable(position, transactions, everywhere, sqlState, message,
                    Vote.REFUSED);
            return tables.isEmpty() ? told : new Control.InapplicableToKeepers(told, tables);
        }

        /** Who has made the effects, as they say. */
        Set<Integer> holders() {
            return whoSay(votes.keySet(), EnumSet.of(Vote.MADE));
        }

        private Set<Integer> whoSay(Set<Integer> voters, Set<Vote> what) {
            return voters.stream().filter(node -> votes.containsKey(node) && what.contains(votes.get(node)))
                    .collect(Collectors.toCollection(TreeSet::new));
        }

        private Ballot with(int node, Vote vote) {
            Map<Integer, Vote> more = new TreeMap<>(votes);
            more.put(node, vote);
            return new Ballot(position, transactions, everywhere, sqlState, message, more, verdict, tables);
        }

        private Ballot closed(Verdict as) {
            return new Ballot(position, transactions, everywhere, sqlState, message, votes, as, tables);
        }

        /** @param nodes all that are not excluded */
        private Verdict judged(Set<Integer> nodes, TablePlacement placement) {
            Set<Integer> voters = new TreeSet<>(nodes);
            voters.removeIf(node -> !concerns(node, placement));
            Set<Integer> made = whoSay(voters, EnumSet.of(Vote.MADE));
            int refused = whoSay(voters, EnumSet.of(Vote.REFUSED)).size();
            boolean whole = tables.stream().allMatch(table -> made.stream().anyMatch(by -> placement.keeps(by, table)));
            if (2 * made.size() > voters.size() && whole) {
                return Verdict.HOLDS;
            }
            boolean nobodyEver = everywhere && whoSay(voters, EnumSet.of(Vote.REFUSED, Vote.NEVER_MADE)).equals(voters);
            Set<Integer> others = new TreeSet<>(nodes);
            others.removeAll(made);
            boolean mendable = made.stream().noneMatch(by -> placement.donors(by, others).isEmpty());
            if ((2 * refused > voters.size() && mendable) || nobodyEver) {
                return Verdict.SKIPPED;
            }
            if (made.size() + refused < voters.size()) {
                return Verdict.OPEN;
            }
            boolean onlyOrigin = !everywhere && made.equals(Set.of(transaction().node()));
            if (whole && !(onlyOrigin && mendable)) {
                return Verdict.HOLDS;
            }
            return mendable && refused > 0 ? Verdict.SKIPPED : Verdict.OPEN;
        }
    }

    /**
     * All of it, as a snapshot keeps it.
     *
     * @param ballots open ones, and closed ones that are remembered
     * @param excluded see {@link Ballots#excluded}
     */
    record Image(List<Ballot> ballots, Set<Integer> excluded) {
        static final Schema<Image> SCHEMA = Schema.part("ballots", Image.class).of(
                Field.of("ballots", Types.list(Ballot.SCHEMA, 1 << 20), Image::ballots),
                Field.of("excluded", Types.set(Types.u8(0, 255), 256), Image::excluded), Image::new);
    }

    private final Placements placements;
    private Set<Integer> nodes;
    private final TreeMap<Long, Ballot> open = new TreeMap<>();
    private final TreeMap<Long, Ballot> closed = new TreeMap<>();
    private final TreeSet<Integer> excluded = new TreeSet<>();

    /**
     * Of a cluster that begins.
     *
     * @param nodes all nodes of the cluster, who vote
     * @param placements of its tables
     */
    Ballots(Set<Integer> nodes, Placements placements) {
        this.nodes = Set.copyOf(nodes);
        this.placements = placements;
    }

    /** Whether a node may have made something of the effects that a ballot is about: its database may still keep what it is to lack. */
    boolean concerns(Ballot ballot, int node) {
        return ballot.concerns(node, placements.made());
    }

    /**
     * Whose word closes a ballot that is open again although its position was left out: as many as lack to a majority of those who refuse, and
     * no more, since what is said behind the verdict, which is forgotten at once, would open it once more.
     */
    Set<Integer> asked(Ballot ballot) {
        Set<Integer> voters = new TreeSet<>(nodes);
        voters.removeAll(excluded);
        voters.removeIf(node -> !concerns(ballot, node));
        Set<Integer> refused = ballot.whoSay(voters, EnumSet.of(Vote.REFUSED));
        int lack = voters.size() / 2 + 1 - refused.size();
        voters.removeAll(refused);
        return voters.stream().limit(Math.max(lack, 0)).collect(Collectors.toSet());
    }

    /** How a position stands; null if nobody has said that it cannot be applied, or that is forgotten. */
    @Nullable
    Ballot of(long position) {
        Ballot here = open.get(position);
        return here == null ? closed.get(position) : here;
    }

    /** Whether a position's effects are left out. */
    boolean skipped(long position) {
        Ballot here = closed.isEmpty() ? null : closed.get(position);
        return here != null && here.verdict == Verdict.SKIPPED;
    }

    /** Closed ballots of positions up to one, from behind another on. */
    Iterable<Ballot> closed(long after, long upTo) {
        return closed.subMap(after, false, upTo, true).values();
    }

    /** Those that are not decided, ascending. */
    List<Ballot> open() {
        return open.isEmpty() ? List.of() : List.copyOf(open.values());
    }

    /** All that are known, ascending. */
    List<Ballot> all() {
        TreeMap<Long, Ballot> all = new TreeMap<>(closed);
        all.putAll(open);
        return List.copyOf(all.values());
    }

    // ------------------------------------------------------------------------------------------ what is delivered

    /** A node cannot make a position's effects. Answers the ballots that this closes. */
    List<Ballot> inapplicable(int node, Control.Inapplicable told) {
        return inapplicable(node, told, Set.of());
    }

    /** The same of changes of tables that some nodes lack. */
    List<Ballot> inapplicable(int node, Control.Inapplicable told, Set<Long> tables) {
        if (!closed.containsKey(told.position())) {
            Ballot before = open.get(told.position());
            Ballot here = before == null
                    ? new Ballot(told.position(), told.transactions(), told.everywhere(),
                            told.sqlState(), told.message(),
                            Map.of(), Verdict.OPEN, tables)
                    : before;
            open.put(told.position(), here.with(node, told.vote()));
        }
        return close();
    }

    /** A node has made them. Likewise. */
    List<Ballot> applied(int node, long position) {
        open.computeIfPresent(position, (_, before) -> before.with(node, Vote.MADE));
        return close();
    }

    /** Somebody has decided by hand. Likewise. */
    List<Ballot> decided(long position, boolean holds) {
        Ballot before = open.get(position);
        if (before == null) {
            return List.of();
        }
        List<Ballot> decided = new ArrayList<>();
        decided.add(close(before, holds ? Verdict.HOLDS : Verdict.SKIPPED));
        decided.addAll(close());
        return decided;
    }

    /** A node says that it holds what others do not. Likewise. */
    List<Ballot> exclude(int node) {
        excluded.add(node);
        return close();
    }

    /** These vote from here on, in ballots that are open, too. Likewise. */
    List<Ballot> voters(Set<Integer> now) {
        nodes = Set.copyOf(now);
        return close();
    }

    /**
     * These vote as of a snapshot that was restored. Nothing is closed by that: the nodes that were delivered what is in the snapshot look when they are
     * delivered what is behind it, and so does this one.
     */
    void recovered(Set<Integer> now) {
        nodes = Set.copyOf(now);
    }

    /** Other tables are placed than before. Likewise. */
    List<Ballot> placed() {
        return close();
    }

    /** Closes what can be; who is excluded by that has no vote in what is left. */
    private List<Ballot> close() {
        List<Ballot> decided = new ArrayList<>();
        for (Ballot next = next(); next != null; next = next()) {
            decided.add(next);
        }
        return decided;
    }

    private @Nullable Ballot next() {
        Set<Integer> voters = new TreeSet<>(nodes);
        voters.removeAll(excluded);
        for (Ballot each : open.values()) {
            Verdict verdict = each.judged(voters, placements.now());
            if (verdict != Verdict.OPEN) {
                return close(each, verdict);
            }
        }
        return null;
    }

    private Ballot close(Ballot ballot, Verdict verdict) {
        Ballot now = ballot.closed(verdict);
        open.remove(now.position);
        closed.put(now.position, now);
        if (closed.size() > CLOSED_MAX) {
            closed.pollFirstEntry();
        }
        if (verdict == Verdict.SKIPPED) {
            excluded.addAll(now.holders());
        }
        return now;
    }

    /**
     * A node begins a life: until it says otherwise its database is right, and it may have made what its last life had not, before anybody heard
     * of this one. Answers whether it was excluded.
     */
    boolean born(int node) {
        open.replaceAll((_, ballot) -> ballot.votes.get(node) == Vote.NEVER_MADE
                ? ballot.with(node, Vote.TROUBLED)
                : ballot);
        return excluded.remove(node);
    }

    /** Nodes that hold what others do not, and take no part but in the order. */
    Set<Integer> excluded() {
        return excluded;
    }

    // ------------------------------------------------------------------------------------------ snapshots

    Image image() {
        List<Ballot> ballots = new ArrayList<>(closed.values());
        ballots.addAll(open.values());
        return new Image(ballots, new TreeSet<>(excluded));
    }

    /** What an {@link #image} does not have: by position, which tables are changed that some nodes lack. */
    Map<Long, Set<Long>> tables() {
        Map<Long, Set<Long>> tables = new TreeMap<>();
        all().stream().filter(ballot -> !ballot.tables.isEmpty())
                .forEach(ballot -> tables.put(ballot.position, new TreeSet<>(ballot.tables)));
        return tables;
    }

    /**
     * Begins from an image that was read.
     *
     * @param tables that go with it
     */
    void restore(Image image, Map<Long, Set<Long>> tables) {
        image.ballots.forEach(ballot -> (ballot.verdict == Verdict.OPEN ? open : closed).put(ballot.position,
                ballot.of(tables.getOrDefault(ballot.position, Set.of()))));
        excluded.addAll(image.excluded);
    }
}
