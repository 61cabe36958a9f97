package tutti.grid.node;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.schema.DecodeException;
import tutti.core.schema.Encoded;
import tutti.core.txn.TransactionId;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.commit.CommitRequest;
import tutti.grid.commit.Commits;
import tutti.grid.commit.GroupCommit;
import tutti.grid.commit.Result;
import tutti.grid.genuine.Configuration;
import tutti.grid.genuine.GenuineMessage;
import tutti.grid.multicast.LamportClock;
import tutti.grid.store.GroupOwners;
import tutti.grid.store.Key;
import tutti.grid.store.Layouts;
import tutti.grid.store.Owners;
import tutti.grid.store.Store;
import tutti.grid.store.Version;
import tutti.grid.view.Layout;
import tutti.grid.view.View;
import tutti.grid.view.ViewAgreement;
import tutti.grid.view.ViewEntry;
import tutti.grid.view.ViewMessage;
import tutti.runtime.Clock;
import tutti.runtime.Loop;

/**
 * What a {@link GridNode} is from when it becomes a member until it is none: the keys that it owns, and the transactions that run here. On
 * the node's loop. Answers come on the loop, too, and never before the question has returned.
 *
 * <p>
 * <b>Clock and views.</b> Every message carries the sender's clock, which the receiver sees before anything else, and the view that the sender {@linkplain ViewEntry goes by}. What was
 * sent in a later view than the receiver goes by waits until that has entered it; what comes from outside of the view that was agreed on last is
 * dropped, but for what agrees on views and who applies. A heartbeat names the last view, so tells who has closed the one before.
 *
 * <p>
 * <b>Who is there.</b> A node that was not heard for the failure timeout is suspected; a majority then goes on without it. Without views ({@link CommitProtocol#GROUPS}) nothing is agreed on: a node does
 * without those that it has not heard for the failure timeout, and gives them up after ten times as long, so that nothing need be
 * kept for them; they take part again as other lives ({@link Replacement}), which are not there before they say so.
 *
 * <p>
 * <b>What is forgotten.</b> With each heartbeat a node says below which stamp it needs nothing: neither its open transactions nor what it
 * has not applied yet. What is below that of all members, as they say it in the present view, is dropped. So is what has expired for all; see {@link Times}.
 * Who joins begins with the clock of who tells it of its view, which is not below what that one has said before.
 */
final class GridMember implements Reads.World {
    private static final Logger LOGGER = LoggerFactory.getLogger(GridMember.class);
    /** Without views: after so many heartbeats without a word another owner is asked. */
    private static final int HEARTBEATS_FOR_ANSWER = 2;

    /** A member that was left alone could take in nobody: if that one crashed then, nobody could go on. */
    private static final int GROUP_LEFT_MIN = 2;

    /** The node. */
    interface World {
        /** The others go on without this process. Told once. */
        void excluded(View by);

        /** Hears what is applied. */
        GridNode.Observer observer();

        /** How keys are moved. */
        Relocation.Factory relocation();

        /** How others' entries are kept. */
        L1.Factory l1();
    }

    private final GridConfig config;
    private final int[] degrees;
    private final Clock machineClock;
    private final Loop loop;
    private final PeerLinks links;
    private final World world;
    private final LamportClock clock;
    private final Layouts layouts;
    private final boolean byGroups;
    private final GroupOwners groups;
    /** Without views: members of groups, and who may become one. */
    private View ofGroups;
    private boolean isLeaving;
    /** Who has applied and was told who the members are. */
    private final Set<Integer> introduced = new HashSet<>();
    private final Store store = new Store();
    private final Commits commits;
    private final ViewAgreement agreement;
    private final ViewEntry entry;
    private final Relocation relocation;
    private final OpenTransactions open;
    private final L1 l1;
    private final Reads reads;
    private final Scans scans;
    private final CommitAnswers commitAnswers;
    private final HeldFrames held;
    private final Hearing hearing = new Hearing();
    /** Nodes as which another process has come. */
    private final Set<Integer> superseded = new HashSet<>();
    private final Absence absence;
    private final @Nullable GroupCommit groupCommit;
    private final @Nullable Replacement replacement;
    private volatile boolean isBroughtUp;
    private final Times times;
    private final Heartbeats heartbeats = new Heartbeats();
    private final long process;
    private volatile @Nullable GridException over;
    /** What others have been told of as present. */
    private long told;
    private final GridCounts counts;

    /**
     * Becomes a member.
     *
     * @param clockSeen by who has told of the view
     * @param incarnation not used before by this node
     * @param held what has come from members before; see {@link #dispatchHeld}
     * @param life without views: 0 of the first one of this node, otherwise its process
     */
    GridMember(GridConfig config, long process, long incarnation, View first, long clockSeen, Clock machineClock,
            Loop loop, PeerLinks links, GridCounts counts, HeldFrames held, long life, World world) {
        this.config = config;
        this.commitAnswers = new CommitAnswers(config);
        this.entry = new ViewEntry(first);
        this.process = process;
        this.machineClock = machineClock;
        this.loop = loop;
        this.links = links;
        this.counts = counts;
        this.held = held;
        held.retain(first.members());
        this.world = world;
        this.times = new Times(machineClock, first.number() == 0 && life == 0);
        this.open = new OpenTransactions(config, incarnation, times);
        this.degrees = config.caches().stream().mapToInt(GridConfig.CacheConfig::degree).toArray();
        int degreeMax = Arrays.stream(degrees).max().orElse(1);
        this.groups = groups(config);
        this.ofGroups = first;
        this.absence = new Absence(config.self(), node -> membersOf(groups.groupOf(node)));
        this.byGroups = config.protocol() == CommitProtocol.GROUPS;
        this.clock = new LamportClock(byGroups ? groups.groupOf(config.self()) : config.self());
        this.layouts = new Layouts(first.layout().number(),
                byGroups ? groups : Relocation.owners(first.layout(), degrees));
        Commits.World commitWorld = new Commits.World() {
            @Override
            public void send(int to, Encoded message) {
                GridMember.this.send(to, message);
            }

            @Override
            public void applied(TransactionId id, long stamp, CommitRequest request) {
                world.observer().applied(id, stamp, request);
            }

            @Override
            public void membersChanged() {
                GridMember.this.membersChanged();
            }

            @Override
            public void over() {
                world.excluded(view());
            }
        };
        this.commits = CommitProtocols.start(config, first.members(), groups, layouts, clock, store, life,
                commitWorld);
        this.groupCommit = commits instanceof GroupCommit ofGroups ? ofGroups : null;
        this.replacement = groupCommit == null
                ? null
                : new Replacement(life, groupCommit, store, config.failureTimeout().toNanos(), this::send,
                        () -> world.excluded(view()));
        this.isBroughtUp = life == 0;
        this.relocation = world.relocation().of(config.self(), degreeMax, commits, store, layouts, this::send, first);
        this.l1 = world.l1().of(config);
        store.onAnnounced(key -> l1.written(key, this::invalidate));
        this.reads = new Reads(config, layouts, machineClock::nanoTime, l1, this);
        this.scans = new Scans(config, layouts, this::missing, this::there, (to, question) -> {
            if (to == config.self()) {
                later(() -> scanHere(to, question));
            } else {
                send(to, question);
            }
        }, this::later);
        this.agreement = new ViewAgreement(config.self(), first, this::sendViewMessage, this::install);
        agreement.wish(relocation::wish);
        clock.seen(clockSeen);
        l1.seen(clock.latest());
        long start = byGroups && life == 0 ? config.operationTimeout().toNanos() : 0;
        hearing.start(first.members(), machineClock.nanoTime(), start);
        if (!byGroups) {
            commits.view(first.number(), new TreeSet<>(first.members()));
            relocation.installed(first);
        }
    }

    /** The groups of a configuration. */
    static GroupOwners groups(GridConfig config) {
        return new GroupOwners(config.founders(),
                config.caches().stream().mapToInt(GridConfig.CacheConfig::degree).max().orElse(1));
    }

    /** The view that was agreed on last: who is there. */
    View view() {
        return byGroups ? ofGroups : agreement.view();
    }

    private List<Integer> membersOf(int group) {
        return groupCommit == null ? List.of() : groupCommit.members(group).nodes();
    }

    /** Without views: who is a member of some group has changed. Called by the state machine: whatever calls that back comes later. */
    private void membersChanged() {
        GroupCommit ofGroups = groupCommit;
        if (ofGroups == null) {
            return;
        }
        Set<Integer> before = new TreeSet<>();
        Set<Integer> now = new TreeSet<>();
        for (int group : groups.groups().keySet()) {
            before.addAll(Arrays.stream(groups.of(group)).boxed().toList());
            groups.members(group, membersOf(group));
            for (Configuration.Member member : ofGroups.members(group).members()) {
                now.add(member.node());
                if (!member.address().isEmpty() && member.node() != config.self()) {
                    // What is sent to it next must not be lost.
                    links.at(member.node(), PeerLinks.address(member.address()));
                }
            }
        }
        before.removeAll(now);
        before.removeAll(absence.joining());
        before.remove(config.self());
        if (!before.isEmpty()) {
            LOGGER.info("node {} of grid {} knows that {} are members of no group any more", config.self(),
                    config.name(), before);
        }
        absence.changed(before, now);
        before.forEach(heartbeats::left);
        followGroups();
        later(() -> {
            if (over == null) {
                absence.joining().forEach(ofGroups::introduce);
                absent(hearing.silent(view().members(), config.failureTimeout().toNanos()));
            }
        });
    }

    /** Without views: who is there, or may become a member. */
    private void followGroups() {
        Map<Integer, View.Member> all = new TreeMap<>();
        for (int group : groups.groups().keySet()) {
            for (int node : groups.of(group)) {
                all.put(node, View.Member.UNKNOWN);
            }
        }
        absence.joining().forEach(node -> all.put(node, View.Member.UNKNOWN));
        all.put(config.self(), View.Member.UNKNOWN);
        all.replaceAll((node, _) -> new View.Member(0, links.addressOf(node)));
        ofGroups = new View(0, all, Layout.first(all.keySet()));
        long now = machineClock.nanoTime();
        all.keySet().stream().filter(hearing::isNew).forEach(node -> hearing.heard(node, now));
    }

    /** How many nodes must be there besides these for all keys to be known. */
    private long missing(Set<Integer> asked, int degree) {
        if (byGroups) {
            return groups.isEverythingAt(asked) ? 0 : 1;
        }
        long missing = entered().layout().readers().stream().filter(node -> !asked.contains(node)).count();
        return missing < degree ? 0 : missing;
    }

    /** The view that it goes by, and where keys lie in it: the last one, or an earlier one as long as it cannot enter that; see {@link ViewEntry}. */
    private View entered() {
        return entry.entered();
    }

    /** What its clock has seen. */
    long clock() {
        return clock.latest();
    }

    GridConfig config() {
        return config;
    }

    Loop loop() {
        return loop;
    }

    /** The newest version that this node has applied of a key. */
    Version newest(Key key) {
        return store.newest(key);
    }

    /** Whether transactions may begin. */
    boolean isReady() {
        return times.isKnown() && isBroughtUp;
    }

    /** How far this node is with becoming a member, for people; empty if there is nothing to tell. */
    String howFar() {
        if (isBroughtUp || replacement == null || groupCommit == null) {
            return "";
        }
        return groupCommit.takesPart()
                ? "; it is taken in, and decides what was on its way"
                : "; it must be taken in anew by more than half of its group, and has copied "
                        + replacement.copied() + " versions";
    }

    private void lookWhetherBroughtUp() {
        if (!isBroughtUp && groupCommit != null && groupCommit.isReady()) {
            LOGGER.info("node {} of grid {} was taken in anew by its group", config.self(), config.name());
            isBroughtUp = true;
            // Before it says that it is there.
            view().members().stream().filter(node -> node != config.self()).forEach(groupCommit::introduce);
            // Of those that had left before, nothing comes any more.
            Set<Integer> others = new TreeSet<>();
            for (int node = 0; node < LamportClock.NODES_MAX; node++) {
                if (!view().has(node)) {
                    others.add(node);
                }
            }
            commits.absent(absence.silent(), others);
            timesHeard();
            say(GridMessage.Moving.NOTHING);
        }
    }

    boolean hasForeignKeys() {
        return !store.keys(key -> !owners().isWriter(config.self(), key)).isEmpty();
    }

    /** Which nodes own keys. */
    Owners owners() {
        return layouts.present();
    }

    /** Whether a node takes part, as far as this one knows. */
    @Override
    public boolean isThere(int node) {
        return view().has(node) && !absence.silent().contains(node);
    }

    private Set<Integer> there() {
        Set<Integer> there = new TreeSet<>(view().members());
        there.removeAll(absence.silent());
        return there;
    }

    /** Figures. */
    GridStatus status() {
        return new GridStatus(view().number(), there(), Set.copyOf(absence.joining()),
                byGroups ? ofGroups.layout() : entered().layout(),
                !byGroups && relocation.isLost(),
                store.size(), store.bytes(), store.expired(), heartbeats.isFull(config.self()),
                links.unsentBytes(there()), commits.size(), commitAnswers.size(), counts.committed, counts.conflicts,
                counts.deadlocks, counts.lockTimeouts, reads.local(), reads.remote(),
                store.waitingReads() + commits.waitingReads(),
                counts.messages, l1.status());
    }

    /** Is a member no more: all that waits is told. */
    void end(GridException reason) {
        if (over != null) {
            return;
        }
        over = reason;
        reads.fail(reason);
        scans.fail(reason);
        commitAnswers.fail(reason);
    }

    /** Without views: from now on messages are exchanged with another life of a node. */
    void begins(int node, long itsProcess) {
        GroupCommit ofGroups = groupCommit;
        if (ofGroups != null && over == null) {
            hearing.heard(node, machineClock.nanoTime());
            absence.begins(node);
            introduced.remove(node);
            followGroups();
            ofGroups.begins(node, itsProcess);
            reads.ownersChanged();
            scans.ownersChanged();
        }
    }

    /** Another process has come as a member: that one has crashed, or will be taken for it. */
    void superseded(int node) {
        superseded.add(node);
    }

    /** Without views: whether the group of a node has other members than it was founded with, as far as this node knows. */
    boolean hasChanged(int node) {
        return groupCommit != null && groupCommit.hasChanged(groups.groupOf(node));
    }

    /** Wants to leave; see {@link GridNode#leave}. */
    void leave() {
        GroupCommit ofGroups = groupCommit;
        if (ofGroups != null) {
            int left = ofGroups.configuration().nodes().size() - 1;
            int least = config.caches().stream().mapToInt(GridConfig.CacheConfig::ownersMin).max().orElse(1);
            least = Math.max(least, GROUP_LEFT_MIN);
            if (!isBroughtUp || left < least || !ofGroups.mayTakeOut(config.self())) {
                throw new GridException(GridException.Reason.NOT_ENOUGH_OWNERS, "node " + config.self()
                        + " cannot leave its group, nodes " + ofGroups.configuration().nodes() + ": " + least
                        + " must be left, and more than half of those be heard; have another node join the group first, or close this one");
            }
            isLeaving = true;
            return;
        }
        if (!relocation.mayLeave()) {
            throw new GridException(GridException.Reason.NOT_ENOUGH_OWNERS, "node " + config.self()
                    + " cannot leave: fewer nodes than a cache's degree would be left; add nodes first, or close it");
        }
        relocation.leave();
    }

    /** See {@link GridNode#acceptLoss}. */
    void acceptLoss() {
        relocation.acceptLoss();
    }

    // ------------------------------------------------------------------------------------------ transactions

    /** Begins a transaction; see {@link GridNode#begin}. */
    GridTransaction begin(IsolationLevel level, boolean readOnly) {
        open.checkRoom();
        if (links.unsentBytes(there()) > config.unsentBytesMax()) {
            throw new GridException(GridException.Reason.BUSY, "more than " + config.unsentBytesMax()
                    + " bytes wait to be sent to a node that does not keep up: try again later");
        }
        Set<Integer> others = new TreeSet<>(view().members());
        others.remove(config.self());
        return open.begin(this, level, readOnly, l1.begin(commits.present(), others), machineClock.nanoTime());
    }

    /** A transaction has ended. */
    void ended(GridTransaction transaction, boolean hasCommitted) {
        counts.committed += open.ended(transaction) && hasCommitted ? 1 : 0;
    }

    /** Whether the question cannot be asked any more; then it is answered. */
    private boolean isOver(GridTransaction.Answer<?> answer) {
        GridException why = over;
        if (why != null) {
            later(() -> answer.failed(new GridException(why)));
        }
        return why != null;
    }

    /** Reads a key; see {@link Store#read}. */
    void read(Key key, long stamp, boolean latest, GridTransaction.Answer<Version> answer) {
        if (!isOver(answer)) {
            reads.read(key, stamp, latest, answer);
        }
    }

    /** Finds the keys of a snapshot; see {@link Scans}. */
    void scan(int cache, byte[] prefix, GridTransaction of, GridTransaction.Answer<List<Key>> answer) {
        if (!isOver(answer)) {
            scans.scan(cache, prefix, of, machineClock.nanoTime(), answer);
        }
    }

    private void scanHere(int from, GridMessage.Scan question) {
        Consumer<GridMessage.Keys> answer = from == config.self()
                ? keys -> later(() -> scans.answered(from, keys))
                : keys -> send(from, keys);
        commits.whenThere(question.stamp(), () -> scans.answer(store, question, answer));
    }

    @Override
    public void readHere(GridMessage.Read question, Consumer<Version> reader, Runnable trimmed) {
        commits.whenThere(question.stamp(), () -> {
            if (!question.latest() && store.isTrimmed(question.stamp())) {
                trimmed.run();
            } else {
                store.read(question.key(), question.stamp(), question.latest(), reader);
            }
        });
    }

    /** Commits a transaction that writes something. */
    void commit(TransactionId id, CommitRequest request, GridTransaction.Answer<Result> answer) {
        if (isOver(answer)) {
            return;
        }
        GridException refusal = OwnersLeft.refusal(config, layouts.present(), this::isThere, heartbeats::isFull,
                request);
        if (refusal != null) {
            later(() -> answer.failed(refusal));
            return;
        }
        commitAnswers.add(id, answer, machineClock.nanoTime());
        commits.commit(id, request, result -> later(() -> result(id, result)));
    }

    private void result(TransactionId id, Result result) {
        counts.ended(result.kind());
        l1.seen(result.kind() == Result.Kind.COMMITTED ? result.stamp() : clock.latest());
        commitAnswers.ended(id, result);
    }

    /** A listener is told of what was committed at this stamp. */
    void told(long stamp) {
        l1.seen(stamp);
    }

    @Override
    public void later(Runnable task) {
        loop.execute(task);
    }

    // ------------------------------------------------------------------------------------------ messages

    private void send(int to, Encoded message) {
        counts.messages++;
        links.send(to, GridMessage.frame(entered().number(), clock.latest(), message));
    }

    @Override
    public void send(int to, GridMessage.Read question) {
        send(to, (Encoded) question);
    }

    private void invalidate(int keeper, Key key) {
        send(keeper, new GridMessage.Invalidated(key));
    }

    private void sendViewMessage(int to, ViewMessage message) {
        if (to == config.self()) {
            later(() -> {
                if (over == null) {
                    agreement.received(to, message);
                }
            });
        } else {
            send(to, message);
        }
    }

    /** A frame has come; see {@link PeerLinks.Receiver#received}. */
    void received(int from, ByteBuffer frame) throws IOException {
        if (over != null) {
            return;
        }
        hearing.heard(from, machineClock.nanoTime());
        long sent = frame.getLong(frame.position());
        if (sent > entered().number() && view().has(from)) {
            clock.seen(frame.getLong(frame.position() + Long.BYTES));
            closed(from, sent);
        }
        if (sent > entered().number() || held.has(from)) {
            // What agrees on views must not wait for one.
            if (GridMessage.set()
                    .decode(frame.slice().position(GridMessage.ENVELOPE_BYTES)) instanceof ViewMessage message) {
                agreement.received(from, message);
            } else {
                held.add(from, frame);
            }
            return;
        }
        dispatch(from, frame);
    }

    private void dispatch(int from, ByteBuffer frame) throws IOException {
        boolean isPresent = frame.getLong() == entered().number();
        long stamp = frame.getLong();
        Encoded message;
        try {
            message = GridMessage.set().decode(frame);
        } catch (DecodeException wrong) {
            throw new IOException("node " + from + " has sent what no node would: " + wrong.getMessage(), wrong);
        }
        if (groupCommit != null && !groupCommit.takesPart()) {
            clock.seen(stamp);
            copies(from, message);
        } else if (message instanceof ViewMessage change) {
            agreement.received(from, change);
        } else if (message instanceof GridMessage.Apply apply) {
            applies(from, apply);
        } else if (message instanceof GenuineMessage.Data && byGroups
                && !membersOf(groups.groupOf(from)).contains(from)) {
            // It was taken out, and does not know; or it was taken in, and this node will hear of that.
            introduce(from);
        } else if (!byGroups && !view().has(from)) {
            agreement.tell(from);
        } else {
            clock.seen(stamp);
            l1.heard(from, stamp, machineClock.nanoTime());
            switch (message) {
                case GridMessage.Heartbeat heartbeat -> heartbeat(from, heartbeat, isPresent);
                case GridMessage.Read read -> readHere(read,
                        version -> send(from,
                                new GridMessage.Value(read.number(), version, mayKeep(from, read, version))),
                        () -> send(from, new GridMessage.Trimmed(read.number())));
                case GridMessage.Scan scan -> scanHere(from, scan);
                case GridMessage.Keys keys -> scans.answered(from, keys);
                case GridMessage.Present now -> commits.seen(now.stamp());
                case GridMessage.Trimmed trimmed -> reads.trimmed(trimmed.number());
                case GridMessage.Value value -> {
                    commits.seen(value.version().stamp());
                    reads.value(from, value.number(), value.version(), isPresent && value.kept());
                }
                case GridMessage.Invalidated gone -> l1.invalidated(gone.key());
                case GridMessage.Addresses all -> addresses(all);
                case GridMessage.Leave _ when groupCommit != null -> groupCommit.leaves(from);
                case GridMessage.Fetch fetch when replacement != null ->
                    replacement.fetch(from, fetch, machineClock.nanoTime());
                case GridMessage.Taken taken when replacement != null ->
                    replacement.taken(from, taken, machineClock.nanoTime());
                case GridMessage.Given _,GridMessage.Undecided _,GridMessage.Decided _,GridMessage.Over _,GridMessage.Taken _ -> {
                    // It is late: this node takes part.
                }
                case GridMessage.Fetch fetch -> relocation.fetch(from, fetch);
                case GridMessage.Copies copies -> relocation.copies(from, copies);
                default -> commits.received(from, message);
            }
        }
    }

    /** As a life that takes no part yet: what it copies, and by what it is taken in. All else is for those that do. */
    private void copies(int from, Encoded message) {
        Replacement copying = replacement;
        if (copying == null) {
            return;
        }
        switch (message) {
            case GenuineMessage.Install install -> {
                copying.installed(from, install);
                lookWhetherBroughtUp();
            }
            case GenuineMessage.Part part -> commits.received(from, part);
            case GenuineMessage.Members members -> commits.received(from, members);
            case GridMessage.Addresses all -> addresses(all);
            case GridMessage.Apply apply -> links.applied(from, PeerLinks.address(apply.address()));
            case GridMessage.Heartbeat heartbeat -> heartbeat(from, heartbeat, true);
            case GridMessage part -> copying.received(from, part, machineClock.nanoTime());
            default -> {
                // What it would need of it, it asks for later.
            }
        }
    }

    private void addresses(GridMessage.Addresses all) {
        all.nodes().forEach((node, address) -> {
            if (byGroups && node != config.self()) {
                links.at(node, PeerLinks.address(address));
            }
        });
    }

    /** Whether who has asked may keep the answer. */
    private boolean mayKeep(int from, GridMessage.Read read, Version version) {
        return read.keep() && view().has(from) && owners().isOwner(config.self(), read.key())
                && l1.answered(from, read.key(), version, store, this::invalidate);
    }

    /** Without views: tells who wants to become a member who the others are, and where. */
    private void introduce(int node) {
        if (groupCommit != null) {
            Map<Integer, String> all = new TreeMap<>();
            view().processes().forEach((other, its) -> all.put(other, its.address()));
            all.put(config.self(), PeerLinks.text(config.nodes().get(config.self())));
            all.values().removeIf(String::isEmpty);
            send(node, new GridMessage.Addresses(all));
            groupCommit.introduce(node);
        }
    }

    private void applies(int from, GridMessage.Apply apply) {
        links.applied(from, PeerLinks.address(apply.address()));
        if (replacement != null && groupCommit != null) {
            if (introduced.add(from)) {
                introduce(from);
            }
            if (groups.groupOf(from) == groups.groupOf(config.self())) {
                replacement.applied(from, apply, absence.gone(), machineClock.nanoTime());
            }
            return;
        }
        if (!view().has(from, apply.process())) {
            relocation.applied(from, new View.Member(apply.process(), apply.address()));
        }
        // It learns of its view, or of the members to apply to.
        agreement.tell(from);
    }

    // ------------------------------------------------------------------------------------------ time and views

    private void heartbeat(int from, GridMessage.Heartbeat heartbeat, boolean isPresent) {
        if (heartbeat.view() < view().number()) {
            agreement.tell(from);
        }
        // Who says it before it enters the view that it names may still ask others for what they would forget.
        boolean counts = isPresent && heartbeat.view() == entered().number();
        closed(from, heartbeat.view());
        if (counts) {
            heartbeats.said(from, heartbeat);
            if (groupCommit != null && absence.there(from)) {
                groupCommit.there(from);
                followGroups();
                absent(hearing.silent(view().members(), config.failureTimeout().toNanos()));
            }
            if (byGroups) {
                timesHeard();
            } else {
                times.heard(heartbeats.timesOfOthers(config.self()), entered().members().size() - 1);
            }
            relocation.heard(from, heartbeat.moving());
        }
    }

    private void timesHeard() {
        if (isBroughtUp) {
            times.heardByAll(heartbeats.timesOfOthers(config.self()), there().size() - 1, view().members().size(),
                    store.timeHorizonMillis());
        }
    }

    private void closed(int node, long number) {
        entry.closed(node, number);
        enter();
    }

    /** To be called with each heartbeat. */
    void tick() {
        long now = machineClock.nanoTime();
        long often = config.heartbeat().toNanos();
        hearing.heard(config.self(), now);
        hearing.tick(now, 3 * often);
        Set<Integer> unheard = hearing.silent(view().members(), config.failureTimeout().toNanos());
        GridMessage.Moving moving = GridMessage.Moving.NOTHING;
        if (byGroups) {
            absent(unheard);
        } else {
            view().members()
                    .forEach(node -> agreement.suspect(node, unheard.contains(node) || superseded.contains(node)));
            moving = entered().number() == view().number() ? relocation.say() : moving;
            agreement.tick();
        }
        commits.tick(now);
        lookWhetherBroughtUp();
        l1.tick(commits.present());
        Set<Integer> members = say(moving);
        members.removeAll(absence.joining());
        if (isBroughtUp && entered().number() == view().number() && heartbeats.areOf(members)) {
            store.trim(commits.forget(heartbeats.least(members, GridMessage.Heartbeat::settled)),
                    absence.joining().isEmpty() ? heartbeats.least(members, GridMessage.Heartbeat::timeMillis) : 0);
        }
        expire(now);
    }

    /** A heartbeat, to all members; who they are. */
    private Set<Integer> say(GridMessage.Moving moving) {
        Set<Integer> members = new TreeSet<>(view().members());
        members.removeAll(absence.gone());
        if (!isBroughtUp && replacement != null) {
            members.remove(config.self());
            if (groupCommit != null && groupCommit.takesPart()) {
                members.forEach(node -> send(node, new GridMessage.Present(commits.present())));
            } else {
                Set<Integer> known = new TreeSet<>(members);
                known.addAll(config.nodes().keySet());
                known.remove(config.self());
                replacement.apply(known, PeerLinks.text(config.nodes().get(config.self())));
            }
            return members;
        }
        if (isLeaving && groupCommit != null) {
            groupCommit.configuration().nodes().stream().filter(node -> node != config.self())
                    .forEach(node -> send(node, new GridMessage.Leave(groupCommit.ballot())));
        }
        GridMessage.Heartbeat heartbeat = new GridMessage.Heartbeat(view().number(),
                Math.min(commits.settled(), open.lowestBegin(l1.lowestBegin(commits.present()))), times.earliest(),
                store.bytes() >= config.storedBytesMax(), moving);
        heartbeats.said(config.self(), heartbeat);
        members.stream().filter(node -> node != config.self()).forEach(node -> {
            if (!byGroups || links.isConnected(node)) {
                // Without views a node may be waited for as long as somebody must.
                send(node, heartbeat);
            }
            if (byGroups && commits.present() > told) {
                send(node, new GridMessage.Present(commits.present()));
            }
        });
        told = commits.present();
        return members;
    }

    /** Without views: goes on without nodes, and gives up those that were not heard for very long. */
    private void absent(Set<Integer> unheard) {
        Set<Integer> before = absence.silent();
        Set<Integer> givenUp = absence.notHeard(unheard, hearing, config);
        if (!before.equals(absence.silent())) {
            LOGGER.info("node {} of grid {} does without {}", config.self(), config.name(), absence.silent());
        }
        for (int node : givenUp) {
            if (membersOf(groups.groupOf(node)).contains(node)) {
                links.giveUp(node);
            } else {
                links.left(node);
            }
        }
        for (int node : absence.left(hearing, config)) {
            links.left(node);
            heartbeats.left(node);
            givenUp.add(node);
        }
        commits.absent(absence.silent(), givenUp);
        reads.ownersChanged();
        scans.ownersChanged();
        reads.askOthers(hearing.silent(view().members(), HEARTBEATS_FOR_ANSWER * config.heartbeat().toNanos()));
        if (replacement != null) {
            replacement.tick(machineClock.nanoTime());
        }
    }

    private void expire(long now) {
        reads.expire(now);
        scans.expire(now);
        commitAnswers.expire(now);
        open.expire(now);
    }

    private void install(View view) {
        if (!view.has(config.self(), process)) {
            world.excluded(view);
            return;
        }
        LOGGER.info("node {} of grid {} goes on in {}", config.self(), config.name(), view);
        superseded.clear();
        links.members(view.processes());
        long now = machineClock.nanoTime();
        view.members().stream().filter(hearing::isNew).forEach(node -> hearing.heard(node, now));
        hearing.retain(view.members());
        held.retain(view.members());
        if (entry.lacksSomebody(view)) {
            reads.ownersChanged();
            scans.ownersChanged();
            say(GridMessage.Moving.NOTHING);
        }
        closed(config.self(), view.number());
    }

    /** Goes on in the last view, if it may now. */
    private void enter() {
        if (!entry.enter(view())) {
            return;
        }
        View view = entered();
        heartbeats.clear();
        if (view.layout().number() > layouts.number()) {
            layouts.next(view.layout().number(), Relocation.owners(view.layout(), degrees));
        }
        commits.view(view.number(), new TreeSet<>(view.members()));
        l1.installed();
        relocation.installed(view);
        reads.ownersChanged();
        scans.ownersChanged();
        times.heard(heartbeats.timesOfOthers(config.self()), view.members().size() - 1);
        later(this::dispatchHeld);
    }

    /** Takes what was sent in the view that it goes by, or an earlier one, and had to wait for it. */
    void dispatchHeld() {
        held.dispatch(this::dispatch, () -> over != null, () -> entered().number());
    }
}
