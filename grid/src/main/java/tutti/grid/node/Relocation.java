package tutti.grid.node;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tutti.grid.commit.Commits;
import tutti.grid.node.GridMessage.Moving;
import tutti.grid.node.GridMessage.Step;
import tutti.grid.store.Key;
import tutti.grid.store.Layouts;
import tutti.grid.store.Owners;
import tutti.grid.store.RingOwners;
import tutti.grid.store.Store;
import tutti.grid.store.Version;
import tutti.grid.view.Layout;
import tutti.grid.view.View;

/**
 * One member's side of moving keys when nodes join, leave or have crashed, while transactions run. A pure state machine. Views carry a {@link Layout},
 * which says on which nodes keys lie; this class says what the next one should be, when it may begin, and copies keys. Which view comes is agreed as ever.
 *
 * <p>
 * <b>Three steps</b>, each a view, from ring R to ring W. What may be seen of two neighbours at a time is compatible, as in Rae and others,
 * Online, Asynchronous Schema Change in F1 (2013). (1) COPY: reads and votes are those of owners by R; what is written goes to owners by R and by W.
 * Owners by W copy from owners by R what was there before. (2) SWITCH: reads and votes by W, writes to both. (3) STABLE: all by W.
 * A transaction goes by the layout in which its node sends it, and says so; hence each has one set of voters and one of destinations, wherever it is
 * dealt with.
 *
 * <p>
 * <b>When the next layout may begin.</b> When all members are in the view and nothing is on its way any more that was sent in an earlier layout: so never more than
 * two layouts, neighbours, are about. Each member says with its heartbeats that it is <em>drained</em>: it has nothing open of an earlier layout. When it has heard
 * so of all others, in this view, and is drained still, it says that all are. When all say that, it is so: a transaction that has ended anywhere had come to all of its
 * destinations before (its stamp needs all proposals, its commit all votes); so who sent it, or brings it to others after a crash, has it open until then, and says
 * that it is drained later, by the same channel. Nothing of it comes to a node that has heard that of all. Another view in between asks all again.
 *
 * <p>
 * <b>Nothing is missed.</b> A reader needs of its owner all versions that are or will be there up to its stamp. An owner to which all that is written goes has them: what it
 * knows is waited for, and what comes later gets a stamp above, by its own proposal. In COPY that holds of the owners by R, of whichever of the layouts before, COPY and SWITCH
 * a writer goes by; it holds of owners by W from when all writers go by COPY, if they have what was written before that. That is what they
 * copy, from an owner that has heard that all are drained, so has all of it or has dropped it because nobody needs it. In SWITCH nobody asks owners by R
 * any more once all members are in it; what was asked before is asked anew. So STABLE need not tell them. Votes are as reads, at the transaction's own stamp.
 *
 * <p>
 * <b>What is copied comes late without harm.</b> A version is added at its place by stamp. A removal that both nodes know, and that the copying one drops, is one of which
 * the other has said that it has applied it; what it sent before was without it and has come before, and what it sent after knows of it.
 *
 * <p>
 * <b>Crashes.</b> Owners by R answer until all owners by W have all, so any number of crashes that leaves each key an owner by R loses nothing in COPY, by W
 * after it. A copy is asked for again in each view: of each key from the first owner by R that is left. If a node of W crashes in COPY, COPY begins anew with another W;
 * in SWITCH, the move ends and another one follows. If no owner of some place on the ring is left, keys are not moved, so that what is lost stays {@code OWNER_UNAVAILABLE} and is not taken
 * for removed; unless somebody {@linkplain GridNode#acceptLoss says} that it may be.
 *
 * <p>
 * <b>Joining.</b> A process that applies becomes a member first, without keys. A number may be used again when all members are <em>clean</em>: nothing is kept of a message or
 * transaction in which a node took part that is no member, and when no keys lie on it any more: those of the former process are copied to others first. This is agreed on as being drained is, and it means, too, that all stamps that a former process has drawn and that count
 * have been seen by all: so a new one draws others. A node that leaves goes when no keys lie on it.
 */
class Relocation {

    private final int self;
    private final int degreeMax;
    private final Commits commits;
    private final Store store;
    private final Layouts layouts;
    private final BiConsumer<Integer, GridMessage> sender;
    /** What each member has said of itself in the present view. */
    private final Map<Integer, Moving> said = new HashMap<>();
    private final Map<Integer, View.Member> applicants = new TreeMap<>();
    private View view;
    /** The last layout in which this node has heard that all are drained. */
    private long drainedLayout = -1;
    private boolean leaving;
    /** Up to which layout, at least, losses are accepted; -1 if they are not. */
    private long acceptsLossSince = -1;
    /** The last layout of which this node has copied what it must. */
    private long copied;
    /** Who has not sent all yet. */
    private final Set<Integer> asked = new HashSet<>();
    /** By node: what is to be sent there. */
    private final Map<Integer, Source> sources = new LinkedHashMap<>();

    /** What is left to be sent to a node that copies. */
    private static final class Source {
        private @Nullable Iterator<Key> keys;
        private final Deque<GridMessage.Copy> next = new ArrayDeque<>();
        private boolean wanted = true;
    }

    /** Makes one. */
    interface Factory {
        /** See the constructor. */
        Relocation of(int self, int degreeMax, Commits commits, Store store, Layouts layouts,
                BiConsumer<Integer, GridMessage> sender, View first);
    }

    /**
     * In its first view, of which it is to be told as of the others.
     *
     * @param degreeMax the largest degree of all caches
     */
    Relocation(int self, int degreeMax, Commits commits, Store store, Layouts layouts,
            BiConsumer<Integer, GridMessage> sender, View first) {
        this.self = self;
        this.degreeMax = degreeMax;
        this.commits = commits;
        this.store = store;
        this.layouts = layouts;
        this.sender = sender;
        this.view = first;
    }

    private RingOwners ring() {
        return (RingOwners) layouts.present();
    }

    /** The owners of keys by a layout. */
    static RingOwners owners(Layout layout, int[] degrees) {
        return switch (layout.phase()) {
            case STABLE -> new RingOwners(layout.after(), degrees);
            case COPY -> new RingOwners(layout.before(), layout.after(), degrees);
            case SWITCH -> new RingOwners(layout.after(), layout.before(), degrees);
        };
    }

    /** A view has begun; the layouts know of it. */
    void installed(View next) {
        view = next;
        said.clear();
        applicants.clear();
        sources.clear();
        asked.clear();
        Layout layout = view.layout();
        if (layout.phase() == Layout.Phase.STABLE && layout.number() > acceptsLossSince) {
            acceptsLossSince = -1;
        }
        if (isCopying()) {
            layout.before().stream().filter(node -> node != self && view.has(node)).forEach(asked::add);
            asked.forEach(node -> sender.accept(node, new GridMessage.Fetch(view.number(), true)));
        }
        haveCopied();
    }

    private boolean isCopying() {
        Layout layout = view.layout();
        return layout.phase() == Layout.Phase.COPY && layout.after().contains(self) && copied < layout.number();
    }

    private void haveCopied() {
        if (asked.isEmpty()) {
            copied = view.layout().number();
        }
    }

    // ------------------------------------------------------------------------------------------ which view comes next

    /** A process that is no member wants to be one. */
    void applied(int node, View.Member process) {
        if (!view.has(node)) {
            applicants.put(node, process);
        }
    }

    /** This node wants to leave. */
    void leave() {
        leaving = true;
    }

    /** Whether it may: whether enough stay. */
    boolean mayLeave() {
        return view.members().stream().filter(node -> node != self && !isLeaving(node)).count() >= degreeMax;
    }

    /** Keys without an owner may be taken for removed, until they are moved the next time. */
    void acceptLoss() {
        acceptsLossSince = view.layout().number();
    }

    /** Whether there may be keys without an owner. */
    boolean isLost() {
        return ring().isLost(view.members());
    }

    /** A member has said of itself, in the present view. */
    void heard(int from, Moving moving) {
        said.put(from, moving);
    }

    /** What this node says of itself, with each heartbeat. */
    Moving say() {
        Step drained = step(commits.isDrained(), Moving::drained);
        if (isLast(drained) && drainedLayout < view.layout().number()) {
            drainedLayout = view.layout().number();
            // Nothing of it is read here, and nothing comes any more that writes it.
            drop(store);
            List.copyOf(sources.keySet()).forEach(this::serve);
        }
        Moving own = new Moving(drained, step(commits.isClean(), Moving::clean), copied, leaving,
                acceptsLossSince >= 0);
        said.put(self, own);
        return own;
    }

    private static boolean isLast(Step step) {
        return step == Step.DONE_BY_ALL;
    }

    /** How far this node is with what all must do. */
    Step step(boolean done, Function<Moving, Step> of) {
        if (!done) {
            return Step.OPEN;
        }
        return view.members().stream().allMatch(
                node -> node == self || of.apply(said.getOrDefault(node, Moving.NOTHING)) != Step.OPEN)
                        ? Step.DONE_BY_ALL
                        : Step.DONE;
    }

    private boolean all(Function<Moving, Step> of) {
        return view.members().stream().allMatch(node -> isLast(of.apply(said.getOrDefault(node, Moving.NOTHING))));
    }

    private boolean isLeaving(int node) {
        return said.getOrDefault(node, Moving.NOTHING).leaving();
    }

    /** The view that should follow the present one, if nobody has crashed; null if none should, or not yet. */
    @Nullable
    View wish(View present) {
        if (present.number() != view.number() || !all(Moving::drained)) {
            return null;
        }
        Layout layout = present.layout();
        return switch (layout.phase()) {
            case STABLE -> fromStable(layout);
            case COPY -> {
                if (!view.members().containsAll(layout.after())) {
                    yield view.with(layout.copyTo(wanted()));
                }
                boolean copiedByAll = said.values().stream().allMatch(one -> haveCopied(one.copied(), layout.number()));
                yield copiedByAll && mayMove() ? view.with(next(layout)) : null;
            }
            case SWITCH -> view.with(next(layout));
        };
    }

    /** Whether a node that has copied up to a layout has what it needs for the one after another. */
    boolean haveCopied(long upTo, long present) {
        return upTo >= present;
    }

    /** What follows when keys are being moved. */
    Layout next(Layout layout) {
        return layout.next();
    }

    /** Whether a process may become a member, if nothing is kept by anybody of nodes that are none. */
    boolean mayJoin(boolean clean) {
        return clean;
    }

    /** Whether a process may become a member as this node: not as long as keys lie on it, which the new process would not have. */
    boolean mayJoin(int node, Layout layout) {
        return !layout.after().contains(node);
    }

    /** Drops what neither lies nor will lie on this node. */
    void drop(Store from) {
        from.drop(key -> !layouts.present().isWriter(self, key));
    }

    private @Nullable View fromStable(Layout layout) {
        Set<Integer> leavers = new TreeSet<>(view.members());
        leavers.removeIf(node -> !isLeaving(node) || layout.after().contains(node));
        if (!leavers.isEmpty()) {
            return view.without(leavers);
        }
        Map<Integer, View.Member> joining = new TreeMap<>(applicants);
        joining.keySet().removeIf(node -> !mayJoin(node, layout));
        if (!joining.isEmpty() && mayJoin(all(Moving::clean))) {
            return view.with(joining);
        }
        Set<Integer> wanted = wanted();
        return wanted.equals(layout.after()) || !mayMove() ? null : view.with(layout.copyTo(wanted));
    }

    private boolean mayMove() {
        return !isLost() || said.values().stream().anyMatch(Moving::acceptsLoss);
    }

    /** On which nodes keys should lie: on all that do not leave, if those are enough. */
    private Set<Integer> wanted() {
        Set<Integer> staying = new TreeSet<>(view.members());
        staying.removeIf(this::isLeaving);
        return staying.size() >= degreeMax ? staying : view.members();
    }

    // ------------------------------------------------------------------------------------------ copies

    /** A node asks for a part of what it must copy. */
    void fetch(int from, GridMessage.Fetch fetch) {
        if (fetch.view() != view.number()) {
            return;
        }
        if (fetch.first()) {
            sources.put(from, new Source());
        }
        Source source = sources.get(from);
        if (source != null) {
            source.wanted = true;
            serve(from);
        }
    }

    /** Sends a part, if all that was written before the layout began is here. */
    private void serve(int to) {
        Source source = sources.get(to);
        if (source == null || !source.wanted || !mayServe(drainedLayout, view.layout().number())) {
            return;
        }
        Iterator<Key> keys = source.keys;
        if (keys == null) {
            Owners owners = layouts.present();
            keys = store.keys(key -> owners.isWriter(to, key) && !owners.isOwner(to, key)
                    && firstLeft(owners.of(key)) == self).iterator();
            source.keys = keys;
        }
        List<GridMessage.Copy> part = new ArrayList<>();
        int bytes = 0;
        while (bytes < GridMessage.Copy.PART_BYTES && (keys.hasNext() || !source.next.isEmpty())) {
            GridMessage.Copy copy = source.next.poll();
            if (copy == null) {
                Key key = keys.next();
                store.versions(key).forEach(version -> source.next.add(new GridMessage.Copy(key, version)));
            } else {
                part.add(copy);
                bytes += copy.bytes();
            }
        }
        source.wanted = false;
        boolean last = !keys.hasNext() && source.next.isEmpty();
        if (last) {
            sources.remove(to);
        }
        sender.accept(to, new GridMessage.Copies(view.number(), last, part));
    }

    /** Whether this node has all that was written before the present layout. */
    boolean mayServe(long drained, long present) {
        return drained == present;
    }

    private int firstLeft(int[] owners) {
        for (int owner : owners) {
            if (view.has(owner)) {
                return owner;
            }
        }
        return -1;
    }

    /** A part of what this node must copy has come. */
    void copies(int from, GridMessage.Copies copies) {
        if (copies.view() != view.number() || !asked.contains(from)) {
            return;
        }
        for (GridMessage.Copy copy : copies.copies()) {
            Version version = copy.version();
            store.apply(copy.key(), version);
        }
        if (copies.last()) {
            asked.remove(from);
            haveCopied();
        } else {
            sender.accept(from, new GridMessage.Fetch(view.number(), false));
        }
    }
}
