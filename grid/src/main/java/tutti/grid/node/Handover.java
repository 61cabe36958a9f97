package tutti.grid.node;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.IntPredicate;
import java.util.stream.Stream;
import tutti.grid.commit.GroupCommit;
import tutti.grid.genuine.Configuration;
import tutti.grid.store.GroupLayout;
import tutti.grid.store.GroupOwners;
import tutti.grid.store.Key;
import tutti.grid.store.Store;

/**
 * Without views: how members of a group copy the keys that it gets, from members of the groups that they are moved from, and how these drop them; both sides. On the node's loop.
 *
 * <p>
 * <b>What is copied.</b> A layout in which keys are moved begins with a stamp. What is written at a later one goes to both groups. So a member of the new group lacks what was written up to that stamp; any member of the old group that has decided all up to there has it, or has
 * dropped it because nobody needs it. Versions are added at their places by stamp, so what comes twice or late does no harm; but a member that copies drops nothing, or it would take what it has removed since for new. All versions are copied that are kept, so snapshots find what they would have found.
 *
 * <p>
 * <b>When all have it.</b> A member that has all tells the members of its group, naming its life. The leader of the group, when all members of its own ballot have told it, says so in the order, to all groups: {@link GroupCommit#allHaveCopied}. Who becomes a member later has it too: a leader gives
 * to nobody as long as it copies itself ({@link GroupCommit#give}), its ballot was stable when it said so, so the members of all later ones descend from those of this one, and lives that they take in are given all by one of these.
 *
 * <p>
 * <b>What is dropped.</b> Keys that a group has no more are dropped by each of its members as soon as it has decided all that was ordered before.
 */
final class Handover {
    private final int self;
    private final GroupCommit commits;
    private final GroupOwners groups;
    private final Store store;
    private final long patienceNanos;
    private final BiConsumer<Integer, GridMessage> sender;
    private final IntPredicate isThere;
    /** By group: from where this member copies. */
    private final Map<Integer, Source> sources = new HashMap<>();
    /** The layout that they are of. */
    private long copying;
    private long horizon;
    private long timeMillis;
    /** By member of this group: the life that has all that the group gets in the layout. */
    private final Map<Integer, GridMessage.HasCopied> said = new HashMap<>();
    private long announced;
    private long dropped;
    /** By node: what is left to be sent there. */
    private final Map<Integer, Giving> giving = new HashMap<>();
    /** By node: what was asked too early. */
    private final Map<Integer, GridMessage.Hand> early = new HashMap<>();

    private static final class Source {
        private int from = -1;
        private long heardNanos;
        private boolean isDone;
    }

    private record Giving(long layout, Iterator<GridMessage.Copy> copies) {}

    /**
     * Of a member, or of a life that is to become one.
     *
     * @param patienceNanos after which another node is asked
     * @param isThere whether a node takes part, as far as this one knows
     */
    Handover(int self, GroupCommit commits, GroupOwners groups, Store store, long patienceNanos,
            BiConsumer<Integer, GridMessage> sender, IntPredicate isThere) {
        this.self = self;
        this.commits = commits;
        this.groups = groups;
        this.store = store;
        this.patienceNanos = patienceNanos;
        this.sender = sender;
        this.isThere = isThere;
    }

    /** To be called often. */
    void tick(long nowNanos) {
        GroupLayout layout = groups.layout();
        if (!commits.takesPart()) {
            return;
        }
        new TreeMap<>(early).forEach(this::hand);
        if (commits.isCopying()) {
            copy(layout, nowNanos);
        }
        int group = groups.groupOf(self);
        if (layout.gaining().contains(group) && !layout.copied().contains(group) && !commits.isCopying()) {
            tellAndCount(layout);
        }
        if (!layout.isMoving() && dropped < layout.number() && commits.isDecided(layout.number())) {
            store.drop(key -> groups.groupOf(key) != group);
            giving.clear();
            dropped = layout.number();
        }
    }

    // ------------------------------------------------------------------------------------------ as who gets keys

    private void copy(GroupLayout layout, long nowNanos) {
        if (copying != layout.number()) {
            copying = layout.number();
            sources.clear();
            layout.losing().stream().filter(group -> group != groups.groupOf(self))
                    .forEach(group -> sources.put(group, new Source()));
        }
        sources.forEach((group, source) -> {
            boolean isLate = source.from < 0 || !isThere.test(source.from)
                    || nowNanos - source.heardNanos > patienceNanos;
            if (!source.isDone && isLate) {
                ask(group, source, nowNanos);
            }
        });
        if (sources.values().stream().allMatch(source -> source.isDone)) {
            store.trim(horizon, timeMillis);
            commits.copied();
        }
    }

    /** Another member than before, if there is one. */
    private void ask(int group, Source source, long nowNanos) {
        int[] members = groups.of(group);
        int before = Arrays.stream(members).boxed().toList().indexOf(source.from);
        for (int i = 1; i <= members.length; i++) {
            int next = members[(Math.max(before, 0) + i) % members.length];
            if (isThere.test(next)) {
                source.from = next;
                source.heardNanos = nowNanos;
                sender.accept(next, new GridMessage.Hand(copying, true));
                return;
            }
        }
    }

    /** A part of it has come. */
    void handed(int from, GridMessage.Handed part, long nowNanos) {
        Source source = sources.values().stream().filter(one -> one.from == from && !one.isDone).findFirst()
                .orElse(null);
        if (source == null || part.layout() != copying || !commits.isCopying()) {
            return;
        }
        source.heardNanos = nowNanos;
        part.copies().forEach(copy -> store.apply(copy.key(), copy.version()));
        horizon = Math.max(horizon, part.horizon());
        timeMillis = Math.max(timeMillis, part.timeMillis());
        source.isDone = part.last();
        if (!part.last()) {
            sender.accept(from, new GridMessage.Hand(copying, false));
        }
    }

    private void tellAndCount(GroupLayout layout) {
        Configuration members = commits.configuration();
        Configuration.Member own = members.of(self);
        if (own == null) {
            return;
        }
        GridMessage.HasCopied has = new GridMessage.HasCopied(layout.number(), own.since());
        said.put(self, has);
        members.nodes().stream().filter(node -> node != self).forEach(node -> sender.accept(node, has));
        boolean isEverywhere = members.members().stream().allMatch(
                member -> new GridMessage.HasCopied(layout.number(), member.since()).equals(said.get(member.node())));
        if (isEverywhere && commits.isLeading() && announced < layout.number()) {
            announced = layout.number();
            commits.allHaveCopied();
        }
    }

    /** A member of this group has all. */
    void hasCopied(int from, GridMessage.HasCopied has) {
        said.put(from, has);
    }

    // ------------------------------------------------------------------------------------------ as who has them

    /** A member of a group that gets keys asks for them, or for the next part. */
    void hand(int from, GridMessage.Hand asked) {
        early.remove(from);
        GroupLayout layout = groups.layout();
        if (layout.number() < asked.layout()
                || (layout.number() == asked.layout() && !commits.isDecided(layout.number()))) {
            early.put(from, asked);
            return;
        }
        Giving left = giving.get(from);
        if (layout.number() > asked.layout() || (!asked.first() && (left == null || left.layout != asked.layout()))) {
            return;
        }
        if (left == null || asked.first()) {
            int own = groups.groupOf(self);
            int its = groups.groupOf(from);
            left = new Giving(asked.layout(), store.keys(key -> groups.isMoved(key, own, its)).stream()
                    .flatMap(this::copies).iterator());
            giving.put(from, left);
        }
        List<GridMessage.Copy> part = GridMessage.Copy.part(left.copies);
        sender.accept(from, new GridMessage.Handed(asked.layout(), !left.copies.hasNext(), store.horizon(),
                store.timeHorizonMillis(), part));
    }

    private Stream<GridMessage.Copy> copies(Key key) {
        return store.versions(key).stream().map(version -> new GridMessage.Copy(key, version));
    }

    /** A node is there no more, or as another life. */
    void gone(int node) {
        giving.remove(node);
        early.remove(node);
    }
}
