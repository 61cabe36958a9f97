package tutti.group;

import java.util.Arrays;

/**
 * A member's part in one view: the streams, their stability, the sequencer's order, and who has what of the log on stable
 * storage. It lives from the view's installation until the member leaves the view.
 *
 * <pre>
 *  sender       sequencer       another
 *    |--- Data ----&gt;|--- Data -----&gt;|
 *    |&lt;--- Order ---+--- Order ----&gt;|   each appends to its log, writes to stable storage,
 *    |&lt;-Progress-+&lt;-Progress-+-----&gt;|   and tells all up to where: delivered when a majority has told it
 * </pre>
 */
final class InView {
    private final View view;
    private final int place;
    private final boolean sequencer;
    private final GroupParameters.Flow flow;
    private final ReliableMulticast streams;
    private final Stability stability;
    private final FixedSequencer order;
    private final MessageLog log;
    private final StableWriter writer;
    private final Links links;
    private final Submissions submissions;
    private final Pacer pacer;
    private final SpontaneousOrder spontaneous;
    /** By place: up to which position the member's log is on stable storage. */
    private final long[] logged;
    private final long[] sorted;
    private long loggedTold;
    /** Record of the acceptance, 0 before it. */
    private long acceptedSerial;

    InView(View view, int self, GroupParameters parameters, MessageLog log, StableWriter writer, Links links,
            Submissions submissions, Pacer pacer, SpontaneousOrder spontaneous) {
        this.view = view;
        this.log = log;
        this.writer = writer;
        this.links = links;
        this.submissions = submissions;
        this.pacer = pacer;
        this.spontaneous = spontaneous;
        flow = parameters.flow();
        place = view.place(self);
        sequencer = View.maker(view.number(), links.configured()) == self;
        int members = view.members().length;
        streams = new ReliableMulticast(members, place, parameters);
        stability = new Stability(members, place);
        int[] ids = Arrays.stream(view.members()).map(links::id).toArray();
        order = new FixedSequencer(view.number(), ids, view.incarnations(), view.start(), sequencer);
        logged = new long[members];
        sorted = new long[members];
    }

    /** Whether packets of this view from that member concern it. */
    boolean concerns(long number, int member) {
        return number == view.number() && view.place(member) >= 0;
    }

    /** The log is the one with which the view begins. */
    void accepted(long serial, long incarnation) {
        acceptedSerial = serial;
        submissions.begin(log.lastNumber(links.id(view.members()[place]), incarnation));
        order.drain(log.end() + 1, this::append);
    }

    /** Whether that member is the sequencer and has decided what cannot be: nothing that it says in this view is heard any more. */
    boolean disbelieves(int member) {
        return order.impossible() && isSequencer(member);
    }

    private boolean isSequencer(int member) {
        return View.maker(view.number(), links.configured()) == member;
    }

    /** A stream's message came. */
    void received(int member, Packet.Stream packet, long now) {
        int from = view.place(member);
        if (packet.body() instanceof Packet.Order decision) {
            ImpossiblePacket.unless(isSequencer(member), "it is not the sequencer");
            ImpossiblePacket.unless(decision.runs().stream().allMatch(run -> run.member() < logged.length),
                    "no such member in the view");
        }
        told(from, packet.logged());
        if (streams.received(from, packet.sequence(), packet.body(), now)) {
            for (Packet.Body body = streams.next(from); body != null; body = streams.next(from)) {
                handUp(from, body);
            }
            if (acceptedSerial > 0) {
                order.drain(log.end() + 1, this::append);
            }
        }
    }

    private boolean append(Ordered message) {
        boolean follows = log.follows(message);
        if (follows) {
            writer.append(message);
        }
        return follows;
    }

    private void handUp(int from, Packet.Body body) {
        switch (body) {
            case Packet.Data data -> {
                spontaneous.received(view.members()[from], view.incarnations()[from], data);
                order.data(from, data);
            }
            case Packet.Order decision -> order.decided(decision);
        }
    }

    /** A member lacks some of this member's stream. What the rate does not allow now is asked for again later. */
    void received(int member, Packet.Missing asked, long now) {
        for (Packet.Range range : asked.ranges()) {
            long last = Math.min(range.last(), streams.sent());
            for (long sequence = Math.max(range.first(), last - flow.windowMessages()); sequence <= last
                    && pacer.delay(now) == 0; sequence++) {
                Packet.Body body = streams.again(sequence);
                if (body != null) {
                    Packet.Stream again = new Packet.Stream(view.number(), sequence, logged(), body);
                    pacer.sent(again.encodedSize());
                    links.send(member, again);
                }
            }
        }
    }

    void received(int member, Packet.Progress packet, long now) {
        int from = view.place(member);
        told(from, packet.logged());
        streams.told(from, packet.sent(), now);
    }

    void received(int member, Packet.Gossip packet, long now) {
        ImpossiblePacket.unless(packet.stable().length == logged.length, "other members than the view's");
        int from = view.place(member);
        told(from, packet.logged());
        streams.told(from, packet.sent(), now);
        stability.heard(packet, streams);
        streams.stable(stability.stable(place));
    }

    private void told(int from, long position) {
        logged[from] = Math.max(logged[from], position);
    }

    /** Up to which position this member may say that its log is on stable storage as the view has it; 0 if it may not. */
    private long logged() {
        return acceptedSerial > 0 && writer.stable(acceptedSerial) ? writer.stableEnd() : 0;
    }

    /** Up to which position this many members have the log on stable storage; 0 if this member cannot know yet. */
    long loggedBy(int members) {
        if (acceptedSerial == 0 || members > logged.length) {
            return 0;
        }
        logged[place] = logged();
        System.arraycopy(logged, 0, sorted, 0, logged.length);
        Arrays.sort(sorted);
        return sorted[sorted.length - members];
    }

    /** Multicasts decisions and messages, as far as window and rate allow. Decisions go first, and have half the window. */
    void pump(long now) {
        if (acceptedSerial == 0) {
            return;
        }
        int dataWindow = sequencer ? flow.windowMessages() / 2 : flow.windowMessages();
        int runsMax = Math.max(1, flow.batchBytes() / Packet.Run.BYTES);
        while (pacer.delay(now) == 0) {
            if (sequencer && order.undecided() && streams.room(flow.windowMessages())) {
                Packet.Order decision = order.decide(runsMax);
                multicast(decision);
                order.decided(decision);
                order.drain(log.end() + 1, this::append);
            } else if (submissions.ready() && streams.room(dataWindow)) {
                Packet.Data data = submissions.next();
                multicast(data);
                handUp(place, data);
                order.drain(log.end() + 1, this::append);
            } else {
                return;
            }
        }
    }

    private void multicast(Packet.Body body) {
        streams.send(body);
        loggedTold = logged();
        Packet.Stream packet = new Packet.Stream(view.number(), streams.sent(), loggedTold, body);
        pacer.sent(packet.encodedSize());
        links.multicast(packet);
        if (logged.length == 1) {
            streams.stable(streams.sent());
        }
    }

    /** Whether something waits for the rate alone. */
    boolean paced(long now) {
        return acceptedSerial > 0 && pacer.delay(now) > 0 && (submissions.ready() || order.undecided());
    }

    /** Tells the others how far the log is on stable storage, if it has come further than they were told. */
    void acknowledge() {
        long position = logged();
        if (position > loggedTold) {
            loggedTold = position;
            links.multicast(new Packet.Progress(view.number(), streams.sent(), position));
        }
    }

    /** Tells the others what this member knows of stability. */
    void gossip() {
        stability.vote(streams);
        streams.stable(stability.stable(place));
        loggedTold = logged();
        links.multicast(stability.gossip(view.number(), streams.sent(), loggedTold));
    }

    /** Whether all streams are known to be received by all. */
    boolean settled() {
        return stability.settled(streams);
    }

    /** Asks for what is missing. */
    void ask(long now) {
        for (int from = 0; from < logged.length; from++) {
            var ranges = streams.missing(from, now);
            if (!ranges.isEmpty()) {
                links.send(view.members()[from], new Packet.Missing(view.number(), ranges));
            }
        }
    }

    /** When {@link #ask} has something to ask for; {@link Long#MAX_VALUE} if nothing is missing. */
    long askAt() {
        return streams.askAt();
    }
}
