package tutti.group;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;

/**
 * One member's part in a durable, uniform total order of messages, made by a group that communicates over an unreliable
 * network: the group communication of GORDA D5.1 section 2.3.3 as a deterministic state machine. Events come in as calls,
 * what it wants done goes out through {@link GroupEffects}.
 *
 * <p>
 * <b>Contract for the world.</b> Events are told one at a time, with a time in nanoseconds that never decreases in the
 * life of a member; {@link #start} first. A member that crashed is made anew from the {@link MessageLog} of the records
 * that were on stable storage. All members are configured with the same members, and a member keeps its stable storage
 * for ever: one that lost it must not come back under the same number, unless as {@link MessageLog#forgotten}. A world may so
 * do without stable storage for messages: then the order lasts as long as a majority of the members remembers it ({@link Membership}).
 *
 * <p>
 * <b>Layers</b>, each in a file of its own with its argument: {@link ReliableMulticast} (window, negative
 * acknowledgements), {@link Pacer} (rate), {@link Stability} (when buffers may be freed), {@link FixedSequencer} (order
 * within a view), {@link Membership} (views, by consensus), {@link Peers} (failure detection), {@link LogTransfer} (logs
 * made equal), {@link Submissions} (this member's own messages).
 *
 * <p>
 * <b>What is delivered, and why all agree.</b> A member delivers a position when it knows that a majority of the
 * configured members has accepted the view and has its log up to there on stable storage, and when it has so itself.
 * Such a position is the same in the log of every later view ({@link Membership}) and of all members of this one
 * ({@link FixedSequencer}), so no two members ever deliver different messages at one position, however soon one of them
 * crashes after it: uniform total order and agreement. Positions are those of the log, hence dense. Since the member has
 * the position on its own stable storage too, whatever it made of the delivery never goes beyond its own log, and a
 * position that all members have applied for good may be forgotten by all ({@link #truncate}).
 *
 * <p>
 * <b>Integrity.</b> A message is in the log once: a sender numbers what it submits in each life, the log takes the numbers
 * of a life in turn only, and a life's number is on stable storage before a message of it is sent. <b>Validity.</b> What a
 * member submits stays in its queue until it is delivered to it, and is multicast anew in every view that the member takes
 * part in unless the log holds it.
 *
 * <p>
 * <b>Liveness</b> needs that a majority can at last exchange packets in less than the failure timeout. All buffers are
 * bounded by window, buffer share and queue, but for the log, which grows until it is truncated, and for a member that
 * installed a view and fetches the log with which that begins: it holds the view's messages until it has done so.
 */
public final class GroupMember {
    private static final long TICK = 1;
    private static final long GOSSIP = 2;
    private static final long ASK = 3;
    private static final long PACE = 4;

    private final GroupParameters parameters;
    private final int self;
    private final int majority;
    private final MessageLog log;
    private final GroupEffects effects;
    private final StableWriter writer;
    private final Links links;
    private final Peers peers;
    private final Membership membership;
    private final Submissions submissions;
    private final SpontaneousOrder spontaneous;
    private final Pacer pacer;
    private @Nullable InView inView;

    private long committed;
    private long delivered;
    private boolean gossipArmed;
    private boolean askArmed;
    private boolean paceArmed;
    private boolean started;
    private Group.View told = Group.View.NONE;
    private long toldLiving;
    /** By member: in which life it was when a view was told last. */
    private final long[] toldLives;
    private GroupEffects.@Nullable Blocked blocked;

    /**
     * A new life of a member. Nothing is asked of the world before {@link #start}, but that the life be recorded.
     *
     * @param log what was on stable storage; the member takes it over
     * @param after last position that is not to be delivered again; one that was delivered in a former life, or 0
     * @throws DurableLog.TruncatedException if the log has been truncated beyond {@code after}
     */
    public GroupMember(GroupParameters parameters, MessageLog log, long after, GroupEffects effects)
            throws DurableLog.TruncatedException {
        this(parameters, parameters.majority(), parameters.majority(), log, after, effects);
    }

    /** With other numbers than a majority, to see what they are good for. */
    GroupMember(GroupParameters parameters, int membersForView, int membersForDelivery, MessageLog log, long after,
            GroupEffects effects) throws DurableLog.TruncatedException {
        if (after < log.base()) {
            throw new DurableLog.TruncatedException(after, log.base() + 1);
        }
        if (after > log.end() && log.remembers()) {
            throw new IllegalArgumentException("position " + after + " was never delivered here: the log ends at "
                    + log.end());
        }
        this.parameters = parameters;
        this.log = log;
        this.effects = effects;
        majority = membersForDelivery;
        self = parameters.members().indexOf(parameters.self());
        committed = after;
        delivered = after;
        toldLives = new long[parameters.members().size()];
        links = new Links(parameters.members(), effects);
        writer = new StableWriter(log, effects);
        peers = new Peers(links.configured(), self, parameters.timing().failureTimeoutNanos());
        submissions = new Submissions(parameters.flow());
        spontaneous = new SpontaneousOrder(links, effects);
        pacer = new Pacer(parameters.flow().rateBytesPerSecond(), parameters.flow().burstBytes());
        membership = new Membership(parameters, membersForView, log, writer, links, peers,
                () -> delivered, () -> committed,
                this::committed, new Views());
    }

    /** Begins. */
    public void start(long now) {
        if (started) {
            throw new IllegalStateException("a member is started once");
        }
        started = true;
        effects.timer(TICK, parameters.timing().heartbeatIntervalNanos());
        finish(now);
    }

    /**
     * A packet came.
     *
     * @param from the other member that sent it
     * @return whether a correct member can have sent it; if not, it is left out
     */
    public boolean received(long now, int from, Packet packet) {
        int member = parameters.members().indexOf(from);
        if (member < 0 || member == self) {
            throw new IllegalArgumentException("a packet from member " + from);
        }
        if (!membership.takesPart()) {
            return true;
        }
        boolean possible = true;
        try {
            InView in = inView;
            ImpossiblePacket.unless(in == null || !in.disbelieves(member), "the sequencer has decided what cannot be");
            peers.heard(member, now);
            take(member, packet, now);
        } catch (ImpossiblePacket wrong) {
            possible = false;
        }
        finish(now);
        return possible;
    }

    private void take(int member, Packet packet, long now) {
        switch (packet) {
            case Packet.Alive p -> membership.received(member, p, now);
            case Packet.Prepare p -> membership.received(member, p, now);
            case Packet.Flushed p -> membership.received(member, p, now);
            case Packet.Install p -> membership.received(member, p, now);
            case Packet.Fetch p -> membership.received(member, p);
            case Packet.Entries p -> membership.received(member, p, now);
            case Packet.Differs p -> membership.received(member, p);
            case Packet.Forgotten p -> membership.received(member, p);
            case Packet.Stream p -> {
                InView in = concerned(p.view(), member);
                if (in != null) {
                    in.received(member, p, now);
                }
            }
            case Packet.Missing p -> {
                InView in = concerned(p.view(), member);
                if (in != null) {
                    in.received(member, p, now);
                }
            }
            case Packet.Progress p -> {
                InView in = concerned(p.view(), member);
                if (in != null) {
                    in.received(member, p, now);
                }
            }
            case Packet.Gossip p -> {
                InView in = concerned(p.view(), member);
                if (in != null) {
                    in.received(member, p, now);
                }
            }
        }
    }

    private @Nullable InView concerned(long view, int member) {
        InView in = inView;
        return in != null && in.concerns(view, member) ? in : null;
    }

    /** The time asked for with {@link GroupEffects#timer} is over. */
    public void timer(long now, long id) {
        InView in = inView;
        if (id == TICK) {
            effects.timer(TICK, parameters.timing().heartbeatIntervalNanos());
            membership.tick(now);
            if (in != null && in.equals(inView)) {
                in.gossip();
            }
        } else if (id == GOSSIP) {
            gossipArmed = false;
            if (in != null && unsettled(in)) {
                in.gossip();
            }
        } else if (id == ASK) {
            askArmed = false;
            if (in != null) {
                in.ask(now);
            }
        } else if (id == PACE) {
            paceArmed = false;
        } else {
            throw new IllegalArgumentException("no timer " + id);
        }
        finish(now);
    }

    /**
     * Asks for a message to be ordered.
     *
     * @param payload not to be modified afterwards
     * @return false if the queue is full: nothing was done
     * @throws IllegalArgumentException if the payload is too long
     */
    public boolean submit(long now, byte[] payload) {
        checkLength(payload);
        return taken(now, submissions.submit(payload));
    }

    /**
     * Asks for a message to be ordered that makes obsolete what this member has submitted about the same subject in this life: of
     * that, whatever has not been multicast yet is dropped (semantic reliability, D5.1 section 2.3.3). What is ordered
     * nevertheless all members deliver, as ever. So of what a member that lives on submits about a subject, each message or a
     * later one is delivered, in turn.
     *
     * @param subject whatever the member's submitter takes it for; other members have subjects of their own
     * @param payload not to be modified afterwards
     * @return false if the queue is full: nothing was done, nor dropped
     * @throws IllegalArgumentException if the payload is too long
     */
    public boolean submit(long now, long subject, byte[] payload) {
        checkLength(payload);
        return taken(now, submissions.submit(subject, payload));
    }

    private void checkLength(byte[] payload) {
        if (payload.length > parameters.flow().payloadBytesMax()) {
            throw new IllegalArgumentException("a message of " + payload.length + " bytes, the limit is "
                    + parameters.flow().payloadBytesMax());
        }
    }

    private boolean taken(long now, boolean taken) {
        if (taken) {
            finish(now);
        }
        return taken;
    }

    /** Several messages in turn, which so share packets. Throws like {@link #submit(long, byte[])} and if the queue is full. */
    public void submit(long now, List<byte[]> payloads) {
        for (byte[] payload : payloads) {
            if (payload.length > parameters.flow().payloadBytesMax() || !submissions.submit(payload)) {
                throw new IllegalArgumentException(
                        "a message of " + payload.length + " bytes does not fit: the limit is "
                                + parameters.flow().payloadBytesMax() + ", " + submissions.queuedBytes() + " wait");
            }
        }
        finish(now);
    }

    /** All records up to this one are on stable storage. */
    public void persisted(long now, long serial) {
        writer.persisted(serial);
        membership.persisted(now);
        finish(now);
    }

    /**
     * Allows to forget messages: every configured member, alive or not, has applied everything up to {@code position} for
     * good. What has not been delivered here is kept.
     */
    public void truncate(long position) {
        long upTo = Math.min(position, Math.min(delivered, log.end()));
        if (upTo > log.base()) {
            writer.write(new StableRecord.Forgotten(upTo));
        }
    }

    /** The last position delivered. */
    public long lastDelivered() {
        return delivered;
    }

    /** The last position known to be at a majority; it may be that this member does not have it yet. */
    public long lastKnown() {
        return committed;
    }

    /** The first position that the log holds. */
    public long firstRetained() {
        return log.base() + 1;
    }

    /** Bytes of the messages that the log holds. */
    public long logBytes() {
        return log.bytes();
    }

    /** Bytes submitted, not obsolete, and not delivered back. */
    public long queuedBytes() {
        return submissions.queuedBytes();
    }

    /** How many messages of this life were dropped since {@link #submit(long, long, byte[]) later ones} had made them obsolete. */
    public long obsolete() {
        return submissions.obsolete();
    }

    /** As {@link MessageLog#remembers}. */
    public boolean remembers() {
        return log.remembers();
    }

    /** Which life of the member this is. */
    public long incarnation() {
        return log.incarnation();
    }

    /**
     * The latest life of this member that another one has named and that it has not come to; 0 if none has. What named it was left out: it is untrue, or
     * this member was started twice, or has lost count of its lives, and then the others leave out what it says.
     */
    public long claimedLife() {
        return membership.claimedLife();
    }

    private void committed(long upTo) {
        committed = Math.max(committed, upTo);
    }

    /** What may follow from any event. */
    private void finish(long now) {
        InView in = inView;
        if (in != null) {
            in.pump(now);
            committed(in.loggedBy(majority));
        }
        deliver();
        if (in != null) {
            in.pump(now);
            writer.flush();
            in.acknowledge();
            arm(in, now);
        } else {
            writer.flush();
        }
        tellView(now);
    }

    private void deliver() {
        long upTo = Math.min(committed, writer.stableEnd());
        while (delivered < upTo) {
            Ordered message = log.get(++delivered);
            if (message.sender() == parameters.self() && message.incarnation() == log.incarnation()) {
                submissions.delivered(message.number());
            }
            spontaneous.delivered(parameters.members().indexOf(message.sender()), message);
            effects.deliver(message);
        }
    }

    private boolean unsettled(InView in) {
        return !in.settled() || committed < log.end();
    }

    private void arm(InView in, long now) {
        if (!gossipArmed && unsettled(in)) {
            gossipArmed = true;
            effects.timer(GOSSIP, parameters.timing().stabilityIntervalNanos());
        }
        long askAt = in.askAt();
        if (!askArmed && askAt != Long.MAX_VALUE) {
            askArmed = true;
            effects.timer(ASK, Math.max(1, askAt - now));
        }
        if (!paceArmed && in.paced(now)) {
            paceArmed = true;
            effects.timer(PACE, Math.max(1, pacer.delay(now)));
        }
    }

    private void tellView(long now) {
        long living = peers.alive(now);
        View view = membership.acceptedView();
        int sequencer = view == null ? -1 : View.maker(view.number(), links.configured());
        boolean enough = Long.bitCount(living) >= majority;
        long inView = membership.living(now);
        boolean ordering = sequencer >= 0 && Long.bitCount(inView) >= majority && (inView & 1L << sequencer) != 0;
        int leader = ordering ? links.id(sequencer) : -1;
        long begunAnew = 0;
        for (int i = 0; i < toldLives.length; i++) {
            long life = peers.incarnation(i);
            if (toldLives[i] > 0 && life > toldLives[i]) {
                begunAnew |= 1L << i;
            }
            toldLives[i] = life;
        }
        if ((begunAnew & toldLiving) != 0) {
            // Its former life has ended, however soon the new one began: what it knew is gone.
            tellView(toldLiving & ~begunAnew, false, -1);
        }
        if (living != toldLiving || ordering != told.majority() || leader != told.leader()) {
            tellView(living, ordering, leader);
        }
        GroupEffects.Blocked why = null;
        if (!ordering) {
            why = membership.takesPart() && !enough ? GroupEffects.Blocked.NO_MAJORITY : membership.blocked(now);
        }
        if (why != blocked) {
            blocked = why;
            if (why == null) {
                effects.unblocked();
            } else {
                effects.blocked(why);
            }
        }
    }

    private void tellView(long living, boolean ordering, int leader) {
        toldLiving = living;
        Set<Integer> members = new HashSet<>();
        for (int i = 0; i < links.configured(); i++) {
            if ((living & 1L << i) != 0) {
                members.add(links.id(i));
            }
        }
        told = new Group.View(members, ordering, leader);
        effects.view(told);
    }

    private final class Views implements Membership.Host {
        @Override
        public void entered(View view) {
            inView = new InView(view, self, parameters, log, writer, links, submissions, pacer, spontaneous);
        }

        @Override
        public void accepted(View view, long serial) {
            InView in = inView;
            if (in == null) {
                throw new IllegalStateException("view " + view.number() + " is accepted but not entered");
            }
            in.accepted(serial, log.incarnation());
        }

        @Override
        public void left() {
            inView = null;
        }

        @Override
        public void stateNeeded(long firstRetained) {
            effects.stateNeeded(firstRetained);
        }
    }
}
