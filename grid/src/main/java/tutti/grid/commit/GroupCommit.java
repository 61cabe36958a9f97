package tutti.grid.commit;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Encoded;
import tutti.core.txn.TransactionId;
import tutti.grid.genuine.Configuration;
import tutti.grid.genuine.GenuineMessage;
import tutti.grid.genuine.GroupMulticast;
import tutti.grid.genuine.Groups;
import tutti.grid.multicast.LamportClock;
import tutti.grid.store.Floors;
import tutti.grid.store.GroupLayout;
import tutti.grid.store.GroupOwners;
import tutti.grid.store.GroupRings;
import tutti.grid.store.Key;
import tutti.grid.store.Sorted;
import tutti.grid.store.Store;

/**
 * Commit by multicast to the groups that own what a transaction writes and checks, as in {@link TotalOrderCommit} but without views: any
 * minority of each group may crash at any instant, and no other node takes its place in anything.
 *
 * <p>
 * <b>Votes.</b> A group that owns something that is checked votes. Its members deliver the same in the same order, and each votes by
 * itself, when it knows the outcomes of transactions delivered before that write what is checked. A vote is a function of what was
 * delivered, so all members of a group vote alike, and one vote stands for its group. Every member sends its vote to all members of the other
 * groups, and to the node where the transaction ran; more than half of each group live, so a vote of each group comes
 * everywhere, whoever crashes. Each decides by itself: one negative vote aborts, a positive one of each group that checks commits.
 * What waits for an outcome waits for lower stamps only, hence never in a circle.
 *
 * <p>
 * <b>Reads.</b> A member that has delivered something with a stamp F has delivered all of its group with stamps below (no gaps, see
 * {@link GroupMulticast}). So it answers a read of stamp S when it has delivered something at S or above; until then the read
 * waits, and the member sends an empty message to its group, of which the stamp is above all that it has seen. Any member can
 * answer, whoever leads. What is delivered and not decided makes a read wait in the {@link Store}.
 *
 * <p>
 * <b>Snapshots.</b> A snapshot that begins at a node has the largest stamp of which the node knows that something was committed at
 * it: a group in which nothing was written since must be asked once at most before it answers.
 *
 * <p>
 * <b>What is forgotten.</b> A leader tells its group now and then, in the order, below which stamp nobody needs anything any more, as the
 * nodes say that were not given up. A transaction that is delivered later, and has read below that, is voted against, by all members
 * alike; so nothing depends on whether a node was given up by mistake. Versions are dropped below that, and below what is delivered and not
 * decided, since its vote may have to look at them.
 *
 * <p>
 * <b>Lives.</b> A life of a member that was started anew is given what its leader has at an instant, and then delivers what came after, as a member that was slow would; so it votes as the others do. Votes that were sent
 * to the life before are lost to it: it asks for the outcome. A member is through with a transaction when it is decided there, and outcomes are kept until all members of its groups are; so somebody of its own group can
 * tell, since that group keeps everything for it from when it began to copy. Members of other groups tell what their group has voted.
 *
 * <p>
 * <b>Groups are founded and dissolved</b> by {@link GroupLayout layouts}, each of which begins with a message to all groups that own keys or will: so it has one stamp, and each transaction is before it, or behind it, at all groups that it goes to. Keys are moved by two of them. (1) From F1 on what is written to a key that is moved goes to both groups; the
 * old one answers and votes. Members of the new one copy what was written up to F1 ({@code tutti.grid.node.Handover}). (2) When all members of all groups that get keys have copied, as the leader of each says in the order, F2 being the stamp of the last of these messages, the new group alone has them.
 * <ul>
 * <li><em>Transactions</em> name the layout in which they were sent. One that is delivered in another one, by which one of its keys belongs elsewhere, is refused by all of its groups: that is a function of what was delivered, so all members of all of them do alike. Any other has the same groups and voters by both. None is delivered in a layout
 * before that in which it was sent: its sender's clock has seen that stamp, hence so have all that propose a stamp for it. In between, in a layout that was skipped, nobody has dealt with it.
 * <li><em>Reads</em> name the layout, too. Who is asked answers when it has delivered that and all up to the read's stamp S, and only if its group owns the key then. So the old group answers only if S is below F2, and it has been told of all that was written up to S; the new one has all up to F1 by copying, and was told of the rest. Who gets no answer learns of
 * the next layout in its own group's order, and asks anew.
 * <li><em>Votes</em> of the new group begin with transactions behind F2, and it has all by then. What was removed before F1 it may never have seen: a transaction that has read below F1 is voted against.
 * <li><em>A group that is founded</em> has as first members processes that the message names; they begin as if they had delivered it, at F1. Nothing with a lower stamp goes to the group, since all of its members' clocks have seen F1 before they do anything.
 * <li><em>A group that is dissolved</em> owns nothing from F2 on. Its members stay until nothing goes to it any more ({@code tutti.grid.node.Dissolving}).
 * <li><em>Crashes</em> at any time change nothing of that: layouts are a part of what members of a group deliver alike. A minority of each group, the new one too, may be gone. As long as a member of a group that gets keys is gone and counts, keys are not moved to an end; nothing waits for that.
 * </ul>
 *
 * <p>
 * <b>Once.</b> A message is delivered once, so a transaction is. A vote for what is not delivered yet is kept; for what is unknown and has a
 * stamp that was passed, it is late.
 */
public final class GroupCommit implements Commits, GroupMulticast.World {
    /** A member that was left alone could take in nobody: if that one crashed then, nobody could go on. */
    public static final int MEMBERS_MIN = 2;

    private static final int TICKS_BEFORE_QUESTION = 2;
    /** Who asks for a ballot gives it as much time more as it looks whether somebody must lead, for so many bytes of what it brings to each member. */
    private static final long BYTES_PER_LOOK = 1 << 20;

    private final int self;
    private final int group;
    private final GroupOwners owners;
    private final Store store;
    private final World world;
    private final LamportClock clock;
    private final GroupMulticast multicast;
    private final long patienceNanos;
    /** By the name of the message that orders it. */
    private final Map<TransactionId, GroupTransaction> transactions = new LinkedHashMap<>();
    /** Of what was delivered here and is not decided: when it began. */
    private final Floors floors = new Floors();
    /** By key: what must know the outcome of what writes it before it can vote. */
    private final Map<Key, List<GroupTransaction>> blocked = new HashMap<>();
    /** By stamp: what waits until all up to it is delivered here. */
    private final TreeMap<Long, List<Runnable>> reads = new TreeMap<>();
    /** By stamp: what was delivered here and is not decided. */
    private final TreeMap<Long, GroupTransaction> undecided = new TreeMap<>();
    /** What is decided, for members that cannot know: as long as the multicast keeps what it is about. */
    private final Map<TransactionId, CommitMessage.Outcome> outcomes = new HashMap<>();
    /** What waits for this to be decided when this life was taken in; see {@link #isReady}. */
    private long behind = Long.MAX_VALUE;
    private Set<Integer> silent = Set.of();
    private Set<Integer> unheard = Set.of();
    private long serial;
    private long waitingReads;
    private long present;
    private long delivered;
    private long floor;
    /** See {@link GroupOwners#gained}. */
    private long gained;
    /** The last layout of which this life has what its group gets. */
    private long copied;
    /** Whether a floor of this node is on its way. */
    private boolean asked;
    private long lookedNanos;
    /** How often it has looked while it brings a ballot to the members. */
    private int looksBringing;

    /**
     * In the first ballot.
     *
     * @param clock of this node's group
     * @param patienceNanos how often to look whether somebody must lead, and what should be sent again
     * @param process 0 of a node's first life; see {@link GroupMulticast}
     */
    public GroupCommit(int self, GroupOwners owners, LamportClock clock, Store store, long patienceNanos, long process,
            World world) {
        this.self = self;
        this.owners = owners;
        this.group = owners.groupOf(self);
        this.store = store;
        this.patienceNanos = patienceNanos;
        this.world = world;
        this.clock = clock;
        this.multicast = new GroupMulticast(self, new Groups(owners.groups(), owners.others()), clock, this,
                process);
        if (process == 0) {
            behind = 0;
        }
    }

    // ------------------------------------------------------------------------------------------ asked by the node

    @Override
    public void commit(TransactionId id, CommitRequest request, Consumer<Result> done) {
        if (!multicast.takesPart()) {
            // Its node is about to hear that this life is over.
            return;
        }
        GroupTransaction transaction = new GroupTransaction(new TransactionId(self, ++serial), owners.rings());
        transaction.id = id;
        transaction.done = done;
        transaction.request = request.in(owners.layout().number());
        transaction.groups = groupsOf(request, transaction.layout);
        transactions.put(transaction.name, transaction);
        multicast.send(transaction.name, transaction.groups,
                new GroupPayload.Commit(id, transaction.request.bytes()).bytes());
    }

    /** Where a transaction goes that is sent in a layout. */
    private static Set<Integer> groupsOf(CommitRequest request, GroupRings layout) {
        Set<Integer> of = new TreeSet<>();
        for (CommitRequest.Write write : request.writes()) {
            of.add(layout.groupOf(write.key()));
            of.add(layout.nextOf(write.key()));
        }
        request.checks().forEach(check -> of.add(layout.groupOf(check.key())));
        return of;
    }

    /** Whether a transaction has come to the same groups as if it had been sent in the present layout, and the same ones vote. */
    private boolean isSame(CommitRequest request) {
        GroupRings now = owners.rings();
        GroupRings sent = owners.in(request.layout());
        return request.layout() == now.layout().number()
                || (sent != null && request.keys().stream().allMatch(key -> now.isSame(key, sent)));
    }

    @Override
    public void received(int from, Encoded message) {
        switch (message) {
            case GenuineMessage ordering -> ordering(from, ordering);
            case CommitMessage.Vote vote -> voted(from, vote);
            case CommitMessage.Inquire question -> inquired(from, question.id());
            case CommitMessage.Outcome outcome -> told(outcome);
            default -> throw new IllegalArgumentException("no message of this protocol: " + message);
        }
        letReadsPass();
    }

    @Override
    public void view(long number, Set<Integer> members) {
        throw new IllegalStateException("groups have no views");
    }

    @Override
    public void absent(Set<Integer> notHeard, Set<Integer> gone) {
        silent = Set.copyOf(notHeard);
        gone.forEach(multicast::gone);
    }

    /** See {@link GroupMulticast#unheard}. */
    public void unheard(Set<Integer> nodes) {
        unheard = Set.copyOf(nodes);
        multicast.unheard(unheard);
    }

    private void ordering(int from, GenuineMessage message) {
        boolean tookPart = multicast.takesPart();
        multicast.received(from, message);
        if (multicast.takesPart() && !tookPart) {
            serial = multicast.firstSerial();
            behind = clock.latest();
            List.copyOf(undecided.values()).forEach(this::findOut);
        }
    }

    @Override
    public void tick(long nanos) {
        if (!multicast.takesPart()) {
            return;
        }
        multicast.announce(through(), transactions.values().stream().filter(one -> one.done != null)
                .mapToLong(one -> one.name.serial()).min().orElse(Long.MAX_VALUE));
        letReadsPass();
        if (nanos - lookedNanos < patienceNanos) {
            return;
        }
        lookedNanos = nanos;
        multicast.tick();
        undecided.values().forEach(this::ask);
        transactions.values().stream().filter(one -> one.done != null && !one.delivered).forEach(this::ask);
        looksBringing = multicast.isBringing() ? looksBringing + 1 : 0;
        if (silent.contains(multicast.leader()) || (multicast.isWaiting() && !isGivenTime())) {
            leadUnlessAnotherMay(self);
        }
    }

    private boolean isGivenTime() {
        return looksBringing > 0 && looksBringing <= multicast.keptBytes(group)
                * multicast.configuration().members().size() / BYTES_PER_LOOK;
    }

    /** See {@link GroupMulticast#isBringing}. */
    public boolean isBringing() {
        return multicast.isBringing();
    }

    /** Leads, if this is the first member that is heard, but for one. */
    private void leadUnlessAnotherMay(int without) {
        int next = multicast.configuration().nodes().stream()
                .filter(node -> !silent.contains(node) && (node != without || node == self)).findFirst().orElse(self);
        if (next == self) {
            multicast.lead();
        }
    }

    @Override
    public long present() {
        return present;
    }

    @Override
    public void seen(long stamp) {
        present = Math.max(present, stamp);
    }

    @Override
    public void whenThere(long stamp, Runnable then) {
        if (delivered >= stamp) {
            then.run();
        } else {
            waitingReads++;
            reads.computeIfAbsent(stamp, _ -> new ArrayList<>(1)).add(then);
            passFloor(floor);
        }
    }

    private void letReadsPass() {
        if (!reads.isEmpty()) {
            passFloor(floor);
        }
    }

    /** Orders a message after which all that was seen here is delivered. */
    private void passFloor(long horizon) {
        if (!asked && multicast.takesPart()) {
            asked = true;
            multicast.send(new TransactionId(self, ++serial), Set.of(group), new GroupPayload.Floor(horizon).bytes());
        }
    }

    @Override
    public long settled() {
        return present;
    }

    @Override
    public long forget(long horizon) {
        if (multicast.isLeading() && (horizon > floor || delivered < present)
                && owners.layout().groups().contains(group)) {
            passFloor(Math.max(horizon, floor));
        }
        return floors.lowest(floor);
    }

    @Override
    public long waitingReads() {
        return waitingReads;
    }

    @Override
    public int size() {
        return transactions.size() + multicast.size() + reads.size();
    }

    // ------------------------------------------------------------------------------------------ lives

    /**
     * What a member has, but for the {@link Store}, at an instant: given to a life that is to take its place beside it.
     *
     * @param delivered up to which stamp all is delivered that this is made of
     * @param floor what was ordered to be forgotten
     * @param present what a snapshot has
     * @param undecided what is delivered and waits for votes, by stamp
     * @param outcomes what others may have to ask for
     * @param over messages that are over
     * @param layouts which groups owned which keys; in the last one, if keys are moved, what this group gets is copied
     */
    public record State(long delivered, long floor, long present, List<Undecided> undecided,
            List<CommitMessage.Outcome> outcomes, GroupMulticast.Over over, List<GroupLayout> layouts) {
        /** Keeps copies. */
        public State {
            layouts = List.copyOf(layouts);
            undecided = List.copyOf(undecided);
            outcomes = List.copyOf(outcomes);
        }
    }

    /**
     * A transaction that waits for votes.
     *
     * @param name of the message that orders it
     * @param floor what was ordered to be forgotten before it
     * @param votes by group, those that are known
     */
    public record Undecided(TransactionId name, TransactionId id, CommitRequest request, long stamp, long floor,
            Map<Integer, Boolean> votes) {
        /** Keeps a copy. */
        public Undecided {
            votes = Sorted.copy(votes);
        }
    }

    /** Whether this life is one of its group. */
    public boolean takesPart() {
        return multicast.takesPart();
    }

    /** Whether this life has also delivered and decided what was on its way when it was taken in. */
    public boolean isReady() {
        if (multicast.takesPart() && behind > 0 && multicast.isStable() && multicast.lowestPending() > behind
                && (undecided.isEmpty() || undecided.firstKey() > behind)) {
            behind = 0;
        }
        return behind == 0;
    }

    /** As its leader: gives another life of a member of the group what this one has, and keeps for it what follows; null if this node does not lead, or lacks something that the group gets from others. */
    public @Nullable State give(int member, long process) {
        GroupMulticast.Over over = isCopying() ? null : multicast.give(member, process);
        if (over == null) {
            return null;
        }
        List<Undecided> open = new ArrayList<>();
        for (GroupTransaction one : undecided.values()) {
            TransactionId id = one.id;
            if (id != null) {
                open.add(new Undecided(one.name, id, one.request(), one.stamp, one.floor, one.votes));
            }
        }
        return new State(delivered, floor, present, open, List.copyOf(outcomes.values()), over,
                owners.layouts());
    }

    /** Who takes part in the ballot that this node has joined, of its group. */
    public Configuration configuration() {
        return multicast.configuration();
    }

    /** The members of a group, as far as this node knows. */
    public Configuration members(int of) {
        return multicast.members(of);
    }

    /** The groups of which this node knows members. */
    public Set<Integer> groups() {
        return new TreeSet<>(multicast.groups());
    }

    /** Whether a group has other members than it was founded with, as far as this node knows. */
    public boolean hasChanged(int of) {
        return !multicast.members(of).equals(Configuration.first(owners.groups().getOrDefault(of, List.of())));
    }

    /** The ballot that this node has joined, of its group. */
    public long ballot() {
        return multicast.ballot();
    }

    /** Whether this node leads its group, as far as it knows. */
    public boolean isLeading() {
        return multicast.isLeading();
    }

    /** Whether the group could go on with a member more, if that crashed at once. */
    public boolean mayTakeIn() {
        Configuration of = multicast.configuration();
        return heardOf(of, -1) > (of.members().size() + 1) / 2;
    }

    /** It has copied all; it is to be taken in; see {@link GroupMulticast#takeIn}. */
    public void takeIn(int member, long process, String address) {
        boolean _ = mayTakeIn() && multicast.takeIn(member, process, address);
    }

    /** Whether the group can go on without a member: more than half of the others are heard, and there are {@value #MEMBERS_MIN} of them. */
    public boolean mayTakeOut(int member) {
        Configuration of = multicast.configuration();
        int left = of.members().size() - 1;
        return of.has(member) && left >= MEMBERS_MIN && heardOf(of, member) > left / 2;
    }

    private long heardOf(Configuration of, int without) {
        return of.nodes().stream().filter(node -> node != without && !silent.contains(node)).count();
    }

    /** As the leader: the group goes on without a member, if it can; see {@link GroupMulticast#takeOut}. */
    public void takeOut(int member) {
        boolean _ = mayTakeOut(member) && multicast.takeOut(member);
    }

    /**
     * Another member of the group leaves, or has crashed for good. It cannot lead the ballot in which it is none.
     *
     * @param since which life of the node it is; see {@link Configuration.Member}
     */
    public void leaves(int member, long since) {
        Configuration.Member its = multicast.configuration().of(member);
        if (its == null || its.since() != since) {
            return;
        }
        takeOut(member);
        if (multicast.takesPart() && multicast.leader() == member && !multicast.isWaiting()) {
            leadUnlessAnotherMay(member);
        }
    }

    /** Tells a node who the members of all groups are. */
    public void introduce(int node) {
        multicast.introduce(node);
    }

    /** Whether all of these transactions are decided here. */
    public boolean areDecided(Collection<TransactionId> names) {
        return undecided.values().stream().noneMatch(one -> names.contains(one.name));
    }

    /** What is decided here, and others may ask for. */
    public List<CommitMessage.Outcome> outcomes() {
        return List.copyOf(outcomes.values());
    }

    /** See {@link GroupMulticast#keptBytes}. */
    public long keptBytes(int of) {
        return multicast.keptBytes(of);
    }

    /** It does not copy any more. */
    public void stopGiving() {
        multicast.stopGiving();
    }

    /** Whether this ballot takes in this life, if it is given what its group had delivered up to a stamp. */
    public boolean wouldTakeIn(int from, GenuineMessage.Install install, long delivered) {
        return multicast.wouldTakeIn(from, install, delivered);
    }

    /** This life has been given this, and what belongs to it is in the store. It takes part as soon as it is taken in. */
    public void given(State state) {
        delivered = state.delivered;
        floor = state.floor;
        seen(state.present);
        owners.layouts(state.layouts);
        copied = owners.layout().number();
        gained = owners.gained(group);
        multicast.given(delivered, state.over);
        state.outcomes.forEach(outcome -> outcomes.put(outcome.id(), outcome));
        for (Undecided one : state.undecided) {
            GroupTransaction transaction = new GroupTransaction(one.name, owners.rings());
            transactions.put(one.name, transaction);
            transaction.id = one.id;
            transaction.request = one.request;
            transaction.stamp = one.stamp;
            transaction.floor = one.floor;
            transaction.layout = owners.at(one.stamp);
            transaction.groups = groupsOf(one.request, transaction.layout);
            transaction.delivered = true;
            transaction.votes.putAll(one.votes);
            transaction.voted = one.votes.containsKey(group);
            takePart(transaction);
        }
        world.layoutChanged(Configuration.NOBODY);
    }

    /** From now on messages are exchanged with another life of a node. */
    public void begins(int node, long process) {
        multicast.begins(node, process);
    }

    /** A node that was gone is a member again. */
    public void there(int node) {
        multicast.there(node);
    }

    /** Up to where this node needs nothing any more about what it has delivered. */
    private long through() {
        return undecided.isEmpty() ? delivered : undecided.firstKey() - 1;
    }

    /** Asks what has become of a transaction whose votes are late: they may have been sent to a life before, or by one that has ended. */
    private void ask(GroupTransaction transaction) {
        if (++transaction.ticks >= TICKS_BEFORE_QUESTION && transaction.request != null) {
            inquire(transaction);
        }
    }

    private void findOut(GroupTransaction transaction) {
        CommitMessage.Outcome known = outcomes.get(transaction.name);
        if (known == null) {
            inquire(transaction);
        } else {
            told(known);
        }
    }

    private void inquire(GroupTransaction transaction) {
        Set<Integer> to = new TreeSet<>();
        transaction.groups.forEach(of -> to.addAll(multicast.members(of).nodes()));
        to.remove(self);
        // Who is not heard is asked when it is.
        to.removeAll(unheard);
        to.forEach(node -> world.send(node, new CommitMessage.Inquire(transaction.name, 0)));
    }

    private void inquired(int from, TransactionId name) {
        GroupTransaction transaction = transactions.get(name);
        CommitMessage.Outcome outcome = outcomes.get(name);
        if (outcome != null) {
            world.send(from, outcome);
        } else if (transaction != null && transaction.voted && transaction.votes.containsKey(group)
                && multicast.groupOf(from) != group) {
            world.send(from, new CommitMessage.Vote(name, transaction.votes.get(group), transaction.stamp));
        }
    }

    private void told(CommitMessage.Outcome outcome) {
        GroupTransaction transaction = transactions.get(outcome.id());
        if (transaction != null && transaction.request != null) {
            transaction.stamp = outcome.stamp();
            transaction.outcome = outcome.commit();
            decide(transaction);
        }
    }

    @Override
    public void forgotten(TransactionId name) {
        outcomes.remove(name);
    }

    @Override
    public void membersChanged() {
        world.membersChanged();
    }

    @Override
    public void over() {
        world.over();
    }

    // ------------------------------------------------------------------------------------------ as a member

    @Override
    public void send(int to, GenuineMessage message) {
        world.send(to, message);
    }

    @Override
    public void delivered(TransactionId name, long stamp, byte[] payload) {
        switch (GroupPayload.decode(payload)) {
            case GroupPayload.Floor of -> {
                floor = Math.max(floor, of.horizon());
                asked &= name.node() != self;
            }
            case GroupPayload.Commit commit -> {
                GroupTransaction transaction = transactions.computeIfAbsent(name,
                        _ -> new GroupTransaction(name, owners.rings()));
                transaction.id = commit.id();
                CommitRequest request = CommitRequest.decode(commit.request());
                transaction.request = request;
                transaction.stamp = stamp;
                transaction.floor = Math.max(floor, gained);
                transaction.delivered = true;
                if (isSame(request)) {
                    transaction.layout = owners.rings();
                    transaction.groups = groupsOf(request, transaction.layout);
                    takePart(transaction);
                } else {
                    refuse(transaction);
                }
            }
            case GroupPayload.Move move -> moves(stamp, move);
            case GroupPayload.Copied of -> copied(stamp, of);
        }
        delivered = stamp;
        var now = reads.headMap(delivered, true);
        List<Runnable> answered = now.values().stream().flatMap(List::stream).toList();
        now.clear();
        answered.forEach(Runnable::run);
    }

    private boolean isWrittenHere(CommitRequest.Write write, GroupTransaction of) {
        return of.layout.isWriter(group, write.key());
    }

    /** Keys lie elsewhere than its node knew: none of its groups takes part. */
    private void refuse(GroupTransaction transaction) {
        if (mayBeAsked(transaction, Set.of(group))) {
            outcomes.put(transaction.name, new CommitMessage.Outcome(transaction.name, false, transaction.stamp));
        }
        if (transaction.name.node() != self) {
            world.send(transaction.name.node(), new CommitMessage.Vote(transaction.name, false, transaction.stamp));
        }
        transactions.remove(transaction.name);
        answer(transaction, false);
    }

    private void takePart(GroupTransaction transaction) {
        CommitRequest request = transaction.request();
        for (CommitRequest.Write write : request.writes()) {
            if (isWrittenHere(write, transaction)) {
                transaction.writtenHere.add(write.key());
                store.announce(write.key(), transaction);
            }
        }
        request.checks().stream().filter(check -> transaction.layout.groupOf(check.key()) == group)
                .forEach(transaction.checkedHere::add);
        floors.add(request.begin());
        undecided.put(transaction.stamp, transaction);
        if (request.checks().isEmpty()) {
            transaction.outcome = true;
            if (multicast.isLeading() && !transaction.groups.contains(multicast.groupOf(transaction.name.node()))) {
                world.send(transaction.name.node(), new CommitMessage.Vote(transaction.name, true, transaction.stamp));
            }
        }
        if (transaction.checkedHere.isEmpty() || transaction.voted) {
            transaction.voted = true;
            decide(transaction);
        } else {
            certify(transaction);
        }
        if (behind > 0 && multicast.takesPart() && !transaction.closed) {
            // Its votes may have been sent before this life was taken in.
            findOut(transaction);
        }
    }

    /** Votes for this group, if the outcomes are known of what was delivered before and writes what is checked. */
    private void certify(GroupTransaction transaction) {
        boolean unchanged = true;
        for (CommitRequest.Check check : transaction.checkedHere) {
            for (Store.Writer writer : store.writers(check.key())) {
                if (writer.bound() < transaction.stamp) {
                    blocked.computeIfAbsent(check.key(), _ -> new ArrayList<>(1)).add(transaction);
                    return;
                }
            }
            unchanged &= check.stamp() >= transaction.floor
                    && store.stampBelow(check.key(), transaction.stamp) <= check.stamp();
        }
        transaction.voted = true;
        transaction.votes.put(group, unchanged);
        CommitMessage.Vote vote = new CommitMessage.Vote(transaction.name, unchanged, transaction.stamp);
        Set<Integer> to = new TreeSet<>(Set.of(transaction.name.node()));
        for (int other : transaction.groups) {
            if (other != group) {
                to.addAll(multicast.members(other).nodes());
            }
        }
        // Members of this group know it by themselves.
        to.removeAll(multicast.members(group).nodes());
        to.forEach(node -> world.send(node, vote));
        decide(transaction);
    }

    private void voted(int from, CommitMessage.Vote vote) {
        GroupTransaction transaction = transactions.get(vote.id());
        if (transaction == null) {
            if (vote.id().node() == self || vote.stamp() <= delivered) {
                return;
            }
            transaction = new GroupTransaction(vote.id(), owners.rings());
            transactions.put(vote.id(), transaction);
        }
        transaction.stamp = vote.stamp();
        transaction.votes.put(multicast.groupOf(from), vote.commit());
        if (transaction.request != null) {
            decide(transaction);
        }
    }

    /** Goes on with a transaction, as far as its outcome is known. */
    private void decide(GroupTransaction transaction) {
        Boolean outcome = transaction.outcome;
        if (outcome == null && transaction.votes.containsValue(false)) {
            outcome = false;
        } else if (outcome == null && haveAllVoted(transaction)) {
            outcome = true;
        }
        if (outcome == null) {
            return;
        }
        transaction.outcome = outcome;
        boolean takesPart = transaction.groups.contains(group);
        if (transaction.delivered && !transaction.closed) {
            close(transaction, outcome);
        }
        if (!takesPart || transaction.delivered) {
            answer(transaction, outcome);
        }
        if (!takesPart) {
            transactions.remove(transaction.name);
        } else if (transaction.closed && transaction.voted && transactions.remove(transaction.name, transaction)) {
            floors.remove(transaction.request().begin());
        }
    }

    /** All groups that own something that is checked. If nothing is, a group that has it tells whether it takes part. */
    private boolean haveAllVoted(GroupTransaction transaction) {
        List<CommitRequest.Check> checks = transaction.request().checks();
        return checks.isEmpty()
                ? transaction.votes.containsValue(true)
                : checks.stream().allMatch(
                        check -> transaction.votes.containsKey(transaction.layout.groupOf(check.key())));
    }

    /** Whether somebody may not know by itself, or from what was voted, what has become of it. */
    private boolean mayBeAsked(GroupTransaction transaction, Set<Integer> groups) {
        return !groups.contains(multicast.groupOf(transaction.name.node()))
                || (groups.size() > 1 && !transaction.request().checks().isEmpty());
    }

    private void answer(GroupTransaction transaction, boolean committed) {
        Consumer<Result> done = transaction.done;
        transaction.done = null;
        if (committed) {
            seen(transaction.stamp);
        }
        if (done != null) {
            done.accept(committed ? Result.committed(transaction.stamp) : Result.failed(Result.Kind.CONFLICT));
        }
    }

    /** Applies or drops what this group owns of it, once. */
    private void close(GroupTransaction transaction, boolean committed) {
        transaction.closed = true;
        undecided.remove(transaction.stamp);
        CommitRequest request = transaction.request();
        if (mayBeAsked(transaction, transaction.groups)) {
            outcomes.put(transaction.name, new CommitMessage.Outcome(transaction.name, committed, transaction.stamp));
        }
        TransactionId id = transaction.id;
        if (committed && id != null) {
            for (CommitRequest.Write write : request.writes()) {
                if (isWrittenHere(write, transaction)) {
                    store.apply(write.key(), write.version(transaction.stamp));
                }
            }
            world.applied(id, transaction.stamp, request);
        }
        transaction.writtenHere.forEach(key -> store.withdraw(key, transaction));
        for (Key key : transaction.writtenHere) {
            List<GroupTransaction> waiting = blocked.remove(key);
            if (waiting != null) {
                waiting.stream().filter(other -> !other.voted).forEach(this::certify);
            }
        }
    }

    @Override
    public void finished(TransactionId name, long stamp) {
        // Whoever has delivered it tells what has become of it.
    }

    // ------------------------------------------------------------------------------------------ which groups there are

    private void moves(long stamp, GroupPayload.Move move) {
        GroupLayout now = owners.layout();
        boolean founds = !move.nodes().isEmpty();
        GroupLayout next = move.base() != now.number()
                ? null
                : founds ? now.founding(stamp, move.group(), move.nodes()) : now.dissolving(stamp, move.group());
        if (next == null) {
            return;
        }
        owners.next(next);
        if (founds) {
            multicast.founded(move.group(), move.nodes(), move.first());
        }
        world.layoutChanged(founds ? move.first() : Configuration.NOBODY);
    }

    private void copied(long stamp, GroupPayload.Copied of) {
        GroupLayout now = owners.layout();
        if (of.layout() == now.number() && now.gaining().contains(of.group())) {
            owners.next(now.copied(stamp, of.group()));
            gained = owners.gained(group);
            if (!owners.layout().isMoving()) {
                // What begins from now on reads above what the new groups cannot tell, though nobody may have written anything since.
                seen(stamp);
            }
            world.layoutChanged(Configuration.NOBODY);
        }
    }

    /** A further group is to be founded; in vain if the layout becomes another one before. */
    public void found(Set<Integer> nodes, Configuration first) {
        order(new GroupPayload.Move(owners.layout().number(), GroupOwners.number(nodes), nodes, first));
    }

    /** A group is to be dissolved; in vain if the layout becomes another one before. */
    public void dissolve(int which) {
        order(new GroupPayload.Move(owners.layout().number(), which, Set.of(), Configuration.NOBODY));
    }

    private void order(GroupPayload payload) {
        if (multicast.takesPart()) {
            multicast.send(new TransactionId(self, ++serial), owners.layout().groups(), payload.bytes());
        }
    }

    /** This life is one of the first members of a group that is founded in the last of these layouts. */
    public void found(List<GroupLayout> layouts, Configuration first) {
        owners.layouts(layouts);
        delivered = owners.layout().number();
        seen(delivered);
        behind = 0;
        multicast.found(delivered, first);
        serial = multicast.firstSerial();
        world.layoutChanged(Configuration.NOBODY);
    }

    /** Whether this life lacks keys that its group gets from others. */
    public boolean isCopying() {
        return owners.layout().gaining().contains(group) && copied < owners.layout().number();
    }

    /** This life has all that its group gets in the present layout. */
    public void copied() {
        copied = owners.layout().number();
    }

    /** As the leader: all members of the group have what it gets in the present layout. */
    public void allHaveCopied() {
        order(new GroupPayload.Copied(owners.layout().number(), group));
    }

    /** See {@link GroupMulticast#hasOpen}. */
    public boolean hasOpen(Set<Integer> some) {
        return multicast.hasOpen(some);
    }

    /** See {@link GroupMulticast#keepsNothing}. */
    public boolean keepsNothing() {
        return multicast.keepsNothing();
    }

    /** See {@link GroupMulticast#dissolved}. */
    public boolean dissolved(int which) {
        return multicast.dissolved(which);
    }

    /** Whether all that was ordered up to a stamp is decided here. */
    public boolean isDecided(long stamp) {
        return delivered >= stamp && (undecided.isEmpty() || undecided.firstKey() > stamp);
    }
}
