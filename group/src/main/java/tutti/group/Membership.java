package tutti.group;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Who works together: view synchrony by a consensus among the survivors, for a primary partition (D5.1 section 2.3.3;
 * the consensus is that of Viewstamped Replication, Liskov and Cowling 2012, and of Paxos, which need a majority and a
 * failure detector that may err).
 *
 * <pre>
 *  maker of view v         the others
 *    | promise v (stable)      |
 *    +-- Prepare v -----------&gt;| leave lower views, promise v (stable)      "flush": nothing is added to a log any more
 *    |&lt;-- Flushed v: accepted, end --+
 *    | a majority answered: the best log is the one with the highest accepted view, then the longest
 *    |-- Fetch / Entries -----&gt;| (if the best log is elsewhere)
 *    +-- Install v: members, start --&gt;| make the log equal up to start, accept v (stable), then take part
 * </pre>
 *
 * <p>
 * <b>One maker per number.</b> Only member {@code v mod n} makes view v, and it has v on stable storage as promised before
 * it speaks of it, so no later life of it uses v again: there is at most one {@code Install} of v, and one sequencer life.
 * A member takes part in v only in the life named in {@code Install} and only once in that life.
 *
 * <p>
 * <b>What is stable at a majority is in every later view.</b> Position p counts as stable in view u when a majority of
 * the configured members had accepted u and the log up to p on stable storage, and said so before they promised a later
 * view. Claim: the log with which any view v &gt; u starts holds p as u had it. By induction over the views between. The
 * maker of v chose among the logs of a majority, one of whose members, m, was in the majority of p. It had said so before
 * it promised v, so its log held p, and its accepted view was u or later: by the induction no log that is accepted in a
 * view after u lacks p, and nothing is cut from m's log but what conflicts with such a log ({@link LogTransfer}). The best
 * log has an accepted view at least as late as m's. If it is later than u, it holds p by induction. If it is u, its length
 * is at least m's, and it is a prefix of the log of u's sequencer, or has since been made equal to the beginning of a
 * later view's log, which holds p; either way it holds p. Since only a majority can make a view or make a position
 * stable, a minority can do neither.
 *
 * <p>
 * <b>Members that forget.</b> A world may keep on stable storage only the number of lives, and whether a view has ever been promised:
 * then a member that has promised one forgets in a crash what it promised and acknowledged. Its next life does not
 * <em>remember</em>: it makes no view, its answer does not count for the majority that a view takes, and its log is not chosen. It
 * remembers again once it has accepted a view v that names its life. (This is recovery as in Viewstamped Replication, with
 * the vector of lives of Michael et al., "Recovering Shared Objects Without Stable Storage", DISC 2017.)
 *
 * <p>
 * <em>Why that is enough.</em> Let member m, after life b, remember since view v in its life b' > b. (1) All that b acknowledged as a
 * part of a majority is in the log with which v starts: v was made by a majority Q of members other than m that remember, and a
 * majority that b was part of has a member in common with Q that is not m, to which the argument above applies. (2) b's
 * promises no longer count where that could hurt. {@code Prepare v} names b', else v could not have it as a member; so all of Q know of
 * b' before they answer. A later view w, whose maker has an answer of b still under way, is made by a majority that has a
 * member q of Q other than m, or does not count b. If q answered for w after it did for v, its answer names b', and that of b is
 * dropped. If before, then w > v is impossible, since q would not have answered for v, and w < v is what the argument above allows.
 * (3) No view has two contents. If b had a view w installed, the majority for it shares a member with Q, that answered while
 * b lived, hence before it knew of b': so w < v, and b' makes views above v only. If b merely asked for w, the answers that
 * still come name a former life of the maker, who leaves them out. So everything holds as if m had never crashed, as long as those who
 * remember are a majority. If they are not, no view is ever made again: nothing is ordered, and nothing contradicted.
 *
 * <p>
 * <b>View synchrony.</b> Members that go from one view to the next have the same log when they take part in it: what
 * counts of the old view is its log up to the new one's start. What was multicast and is not in that log is
 * multicast again by its sender if it lives; no member has delivered it.
 *
 * <p>
 * <b>Who tries, and when.</b> The sequencer of a view makes the next one when a member of the view is suspected or has
 * left it, or when one that is outside has caught up. Without a sequencer that seems well, the lowest living member
 * does, and each further one a timeout later than the one before it. Nobody tries who does not hear a majority. When the
 * network is timely at last, all hear the same, one tries, and it is heard.
 */
final class Membership {
    /** Further than views are counted by being made, and as far from the last number there is. */
    private static final long VIEW_FAR = 1L << 61;
    /** More views than a member can have missed that has come so far. */
    private static final long VIEWS_MISSED_MAX = 1L << 40;

    private enum Status {
        /** The new life is not on stable storage: nothing is said. */
        STARTING,
        /** In no view; catching up. */
        OUTSIDE,
        /** A view higher than the last one has been promised. */
        FLUSHING,
        /** In a view; its log may not be here yet. */
        INSTALLED,
        /** The others have forgotten what this member lacks: it is silent for good. */
        LOST
    }

    /** What the maker of a view knows while it makes it. */
    private static final class Attempt {
        final long view;
        final Packet.@Nullable Flushed[] answers;
        /** What was known of lives when it was begun. */
        long[] lives = {};
        int best = -1;

        Attempt(long view, int configured) {
            this.view = view;
            answers = new Packet.Flushed[configured];
        }

        int remembering() {
            return (int) Arrays.stream(answers).filter(a -> a != null && a.remembers()).count();
        }

        /** Drops what was answered by lives that others know to be over. */
        void dropFormerLives() {
            for (int i = 0; i < answers.length; i++) {
                for (Packet.Flushed witness : answers.clone()) {
                    Packet.Flushed answer = answers[i];
                    if (answer != null && witness != null && witness.lives()[i] > answer.incarnation()) {
                        answers[i] = null;
                    }
                }
            }
        }
    }

    /** Told of entering and leaving views. */
    interface Host {
        /** The view's streams begin; the log is not yet what it begins with. */
        void entered(View view);

        /** The log is what the view begins with; {@code serial} is the record of that. */
        void accepted(View view, long serial);

        /** The view is over for this member. */
        void left();

        /** This member can never catch up. */
        void stateNeeded(long firstRetained);
    }

    private static final long WELL = Long.MAX_VALUE;

    private final int self;
    private final GroupParameters parameters;
    private final int majority;
    private final MessageLog log;
    private final StableWriter writer;
    private final Links links;
    private final Peers peers;
    private final LogTransfer transfer;
    private final Host host;
    private final LongSupplier committed;
    private final LongConsumer nowCommitted;

    private Status status = Status.STARTING;
    private final long startedSerial;
    /** Record of the last promise, 0 if it is known to be stable. */
    private long promiseSerial;
    private @Nullable Attempt attempt;
    private @Nullable View view;
    private boolean accepted;
    private long lastInstalled;
    private long installedAt;
    /** Since when this member finds that a new view is needed, or has been promised one. */
    private long unwellSince = WELL;
    private long claimedLife;

    /** @param majority how many members it takes to make a view */
    Membership(GroupParameters parameters, int majority, MessageLog log, StableWriter writer, Links links, Peers peers,
            LongSupplier delivered, LongSupplier committed, LongConsumer nowCommitted, Host host) {
        this.parameters = parameters;
        this.majority = majority;
        self = parameters.members().indexOf(parameters.self());
        this.log = log;
        this.writer = writer;
        this.links = links;
        this.peers = peers;
        this.committed = committed;
        this.nowCommitted = nowCommitted;
        this.host = host;
        transfer = new LogTransfer(log, writer, links, parameters.flow().fetchBytes(), delivered,
                nowCommitted);
        startedSerial = writer.write(new StableRecord.Started(log.incarnation() + 1));
        learn(new long[links.configured()]);
    }

    /**
     * Somebody knows of these lives. Of its own this member knows all there are, so that whoever names a later one is wrong; or else this is an older
     * process than the one that is meant, and the others leave out what it says ({@link #claimedLife}).
     */
    private void learn(long[] known) {
        if (known.length == links.configured() && known[self] > log.incarnation()) {
            claimedLife = Math.max(claimedLife, known[self]);
            throw new ImpossiblePacket("member " + links.id(self) + " has not come to life " + known[self]);
        }
        peers.lives(known);
        long[] own = new long[links.configured()];
        own[self] = log.incarnation();
        peers.lives(own);
    }

    /** The latest life of this member that another one has named and that it has not come to; 0 if none has. */
    long claimedLife() {
        return claimedLife;
    }

    /** Whether this member listens and speaks. */
    boolean takesPart() {
        return status != Status.STARTING && status != Status.LOST;
    }

    /** The view that this member takes part in, log and all; null if none. */
    @Nullable
    View acceptedView() {
        return accepted ? view : null;
    }

    /** The living members of this one's view as bits, as far as they are in the lives that are in it. */
    long living(long now) {
        View in = view;
        long living = 0;
        if (in != null) {
            for (int place = 0; place < in.members().length; place++) {
                int member = in.members()[place];
                if (peers.alive(member, now)
                        && (member == self || peers.incarnation(member) <= in.incarnations()[place])) {
                    living |= 1L << member;
                }
            }
        }
        return living;
    }

    /** Why this member has no accepted view, while a majority is alive. */
    GroupEffects.Blocked blocked(long now) {
        boolean forgotten = links.configured() - peers.forgetful(now) - (log.remembers() ? 0 : 1) < majority;
        return switch (status) {
            case STARTING -> GroupEffects.Blocked.STARTING;
            case OUTSIDE, FLUSHING -> {
                if (forgotten) {
                    yield GroupEffects.Blocked.FORGOTTEN;
                }
                yield status == Status.OUTSIDE ? GroupEffects.Blocked.OUTSIDE : GroupEffects.Blocked.VIEW_CHANGE;
            }
            case INSTALLED -> GroupEffects.Blocked.VIEW_CHANGE;
            case LOST -> GroupEffects.Blocked.STATE_NEEDED;
        };
    }

    /** Records have become stable. */
    void persisted(long now) {
        if (status == Status.STARTING && writer.stable(startedSerial)) {
            status = Status.OUTSIDE;
            links.multicast(alive());
            consider(now);
        }
        if (promiseSerial > 0 && writer.stable(promiseSerial)) {
            promiseSerial = 0;
            if (status == Status.FLUSHING) {
                promised(now);
            }
        }
    }

    private void promised(long now) {
        long promise = log.promised();
        Attempt mine = attempt;
        if (mine != null) {
            mine.lives = peers.lives();
            links.multicast(new Packet.Prepare(promise, mine.lives));
            mine.answers[self] = flushed();
            choose(mine, now);
        } else {
            links.send(View.maker(promise, links.configured()), flushed());
        }
    }

    private Packet.Flushed flushed() {
        return new Packet.Flushed(log.promised(), log.incarnation(), log.accepted(), log.end(),
                Math.max(0, log.viewAt(log.end())), log.remembers(), peers.lives());
    }

    private Packet.Alive alive() {
        View in = view;
        return new Packet.Alive(log.incarnation(), log.promised(), in == null ? 0 : in.number(), log.end(),
                committed.getAsLong(), log.remembers());
    }

    /** It is time for a sign of life, and to say again what may have been lost. */
    void tick(long now) {
        if (!takesPart()) {
            return;
        }
        links.multicast(alive());
        transfer.tick();
        Attempt mine = attempt;
        View in = view;
        if (mine != null && promiseSerial == 0 && mine.best < 0) {
            for (int i = 0; i < mine.answers.length; i++) {
                if (mine.answers[i] == null) {
                    links.send(i, new Packet.Prepare(mine.view, mine.lives));
                }
            }
            choose(mine, now);
        } else if (in != null && makes(in.number())) {
            for (int member : in.members()) {
                if (member != self && peers.installed(member) != in.number() && peers.promised(member) <= in.number()) {
                    links.send(member, in.packet(committed.getAsLong()));
                }
            }
        } else if (status == Status.OUTSIDE && !transfer.active()) {
            int from = wellInformed(now);
            if (from >= 0) {
                transfer.catchUp(from);
            }
        }
        consider(now);
    }

    private boolean makes(long number) {
        return View.maker(number, links.configured()) == self;
    }

    /** A living member of the newest view that somebody says to be in, not its sequencer if possible; -1 if none. */
    private int wellInformed(long now) {
        int best = -1;
        for (int i = 0; i < links.configured(); i++) {
            if (i != self && peers.alive(i, now) && peers.installed(i) > 0
                    && (best < 0 || peers.installed(i) > peers.installed(best)
                            || (peers.installed(i) == peers.installed(best)
                                    && View.maker(peers.installed(i), links.configured()) == best))) {
                best = i;
            }
        }
        return best;
    }

    /** Makes a view, now or as soon as it is this member's turn, if one is needed. */
    private void consider(long now) {
        long living = peers.alive(now);
        if (Long.bitCount(living) < majority || !log.remembers()) {
            unwellSince = WELL;
            return;
        }
        if (status != Status.FLUSHING && well(now)) {
            unwellSince = WELL;
            return;
        }
        if (unwellSince == WELL) {
            unwellSince = now;
        }
        View in = view;
        long before = living & (1L << self) - 1;
        if (in != null) {
            before = makes(in.number()) ? 0 : before & ~(1L << View.maker(in.number(), links.configured()));
        }
        int turns = Long.bitCount(before) + (status == Status.FLUSHING ? 1 : 0);
        if (now - unwellSince >= turns * parameters.timing().viewTimeoutNanos()) {
            long next = View.after(Math.max(log.promised(), peers.highestView()), self, links.configured());
            promise(next, now);
            attempt = new Attempt(next, links.configured());
        }
    }

    private boolean well(long now) {
        View in = view;
        if (in == null) {
            for (int i = 0; i < links.configured(); i++) {
                long installed = peers.installed(i);
                if (i != self && installed > 0 && peers.alive(i, now)
                        && View.maker(installed, links.configured()) == i) {
                    return true;
                }
            }
            return false;
        }
        if (!makes(in.number())) {
            return seemsIn(in, in.place(View.maker(in.number(), links.configured())), now);
        }
        for (int place = 0; place < in.members().length; place++) {
            if (in.members()[place] != self && !seemsIn(in, place, now)) {
                return false;
            }
        }
        return now - installedAt < 2 * parameters.timing().viewTimeoutNanos() || !someoneIsReady(in, now);
    }

    private boolean seemsIn(View in, int place, long now) {
        int member = in.members()[place];
        if (!peers.alive(member, now) || peers.incarnation(member) > in.incarnations()[place]
                || peers.promised(member) > in.number()) {
            return false;
        }
        return peers.installed(member) == in.number()
                || now - installedAt <= parameters.timing().failureTimeoutNanos();
    }

    private boolean someoneIsReady(View in, long now) {
        for (int i = 0; i < links.configured(); i++) {
            if (in.place(i) < 0 && peers.alive(i, now)
                    && peers.end(i) + parameters.flow().joinLagPositions() >= committed.getAsLong()) {
                return true;
            }
        }
        return false;
    }

    /** Leaves all views below this one. */
    private void promise(long number, long now) {
        leave();
        status = Status.FLUSHING;
        attempt = null;
        unwellSince = now;
        promiseSerial = writer.write(new StableRecord.Promised(number));
    }

    private void leave() {
        transfer.stop();
        if (view != null) {
            view = null;
            accepted = false;
            host.left();
        }
    }

    private void stepOut() {
        leave();
        attempt = null;
        unwellSince = WELL;
        status = Status.OUTSIDE;
    }

    /**
     * Whoever hears of a higher number takes it over, for good; so one wrong number, of one member, could take all there are. One to which no views come is not believed. Below that every
     * number is, since a member that were out of reach of the others' would be so for ever.
     */
    private void requireView(long number) {
        ImpossiblePacket.unless(
                number <= Math.max(VIEW_FAR, Math.max(log.promised(), peers.highestView())) + VIEWS_MISSED_MAX,
                "no view has that number");
    }

    private void requireMaker(int from, long number) {
        requireView(number);
        ImpossiblePacket.unless(View.maker(number, links.configured()) == from, "it does not make that view");
    }

    void received(int from, Packet.Alive said, long now) {
        requireView(said.promised());
        requireView(said.installed());
        peers.alive(from, said);
        long theirs = said.installed();
        boolean made = theirs > 0 && View.maker(theirs, links.configured()) == from;
        View in = view;
        if (made && (in == null ? status == Status.FLUSHING && theirs >= log.promised() : theirs > in.number())) {
            // A majority promised that view: the one this member is in, or wants to make, comes too late.
            stepOut();
        }
    }

    void received(int from, Packet.Prepare asked, long now) {
        requireMaker(from, asked.view());
        learn(asked.lives());
        peers.seen(asked.view());
        if (asked.view() > log.promised()) {
            promise(asked.view(), now);
        } else if (asked.view() < log.promised()) {
            links.send(from, alive());
        } else if (view == null && lastInstalled < asked.view() && promiseSerial == 0) {
            if (status == Status.OUTSIDE) {
                transfer.stop();
                status = Status.FLUSHING;
                unwellSince = now;
            }
            links.send(from, flushed());
        }
    }

    void received(int from, Packet.Flushed answer, long now) {
        Attempt mine = attempt;
        if (mine == null || answer.view() != mine.view || promiseSerial > 0 || mine.best >= 0) {
            return;
        }
        learn(answer.lives());
        if (answer.lives()[self] != log.incarnation()) {
            // It answers a former life of this member.
            return;
        }
        Packet.Flushed earlier = mine.answers[from];
        if (earlier == null || answer.incarnation() >= earlier.incarnation()) {
            mine.answers[from] = answer;
        }
        choose(mine, now);
    }

    /** When all that live have answered, or a majority has and time is short: takes the best log. */
    private void choose(Attempt mine, long now) {
        mine.dropFormerLives();
        if (mine.remembering() < majority) {
            return;
        }
        int best = self;
        long silent = 0;
        for (int i = 0; i < mine.answers.length; i++) {
            Packet.Flushed answer = mine.answers[i];
            if (answer == null) {
                silent |= 1L << i;
            } else if (answer.remembers() && better(answer, mine.answers[best])) {
                best = i;
            }
        }
        if ((silent & peers.alive(now)) != 0 && now - unwellSince < parameters.timing().viewTimeoutNanos() / 2) {
            return;
        }
        mine.best = best;
        Packet.Flushed chosen = mine.answers[best];
        if (chosen == null) {
            throw new IllegalStateException("no answer of member " + links.id(best));
        }
        if (transfer.holds(chosen.end(), chosen.endView())) {
            install(mine, chosen, now);
        } else {
            transfer.begin(best, mine.view, chosen.end(), chosen.endView());
        }
    }

    private static boolean better(Packet.Flushed one, Packet.@Nullable Flushed other) {
        return other == null || one.accepted() > other.accepted()
                || (one.accepted() == other.accepted() && one.end() > other.end());
    }

    /** The log is the chosen one: the view can begin, with those that are not far behind, and a majority anyhow. */
    private void install(Attempt mine, Packet.Flushed chosen, long now) {
        List<Integer> near = new ArrayList<>();
        for (int i = 0; i < mine.answers.length; i++) {
            Packet.Flushed answer = mine.answers[i];
            if (answer != null && i != self && (answer.remembers() || mine.lives[i] == answer.incarnation())) {
                near.add(i);
            }
        }
        near.sort(Comparator.comparingLong(i -> -answeredEnd(mine, i)));
        List<Integer> members = new ArrayList<>(List.of(self));
        for (int i : near) {
            if (members.size() < majority
                    || answeredEnd(mine, i) + parameters.flow().joinLagPositions() >= chosen.end()) {
                members.add(i);
            }
        }
        members.sort(null);
        long[] incarnations = members.stream().mapToLong(i -> {
            Packet.Flushed answer = mine.answers[i];
            return answer == null ? 0 : answer.incarnation();
        }).toArray();
        View made = new View(mine.view, members.stream().mapToInt(i -> i).toArray(), incarnations, chosen.end(),
                chosen.endView());
        enter(made, now);
        links.multicast(made.packet(committed.getAsLong()));
    }

    private static long answeredEnd(Attempt mine, int member) {
        Packet.Flushed answer = mine.answers[member];
        return answer == null ? 0 : answer.end();
    }

    private void enter(View entered, long now) {
        leave();
        attempt = null;
        status = Status.INSTALLED;
        unwellSince = WELL;
        view = entered;
        lastInstalled = entered.number();
        installedAt = now;
        host.entered(entered);
        if (transfer.holds(entered.start(), entered.startView())) {
            accept(entered);
        } else {
            transfer.begin(View.maker(entered.number(), links.configured()), entered.number(), entered.start(),
                    entered.startView());
        }
    }

    private void accept(View entered) {
        if (log.end() > entered.start()) {
            writer.write(new StableRecord.Cut(entered.start()));
        }
        accepted = true;
        host.accepted(entered, writer.write(new StableRecord.Accepted(entered.number())));
    }

    void received(int from, Packet.Install made, long now) {
        requireMaker(from, made.view());
        int[] in = made.members();
        ImpossiblePacket.unless(in.length > 0 && in[in.length - 1] < links.configured()
                && Arrays.binarySearch(in, from) >= 0, "no such members, or not the one that makes the view");
        peers.seen(made.view());
        if (made.view() < log.promised() || made.view() <= lastInstalled) {
            return;
        }
        View offered = new View(made.view(), made.members(), made.incarnations(), made.start(), made.startView());
        int place = offered.place(self);
        boolean here = place >= 0 && made.incarnations()[place] == log.incarnation();
        if (made.view() > log.promised()) {
            promise(made.view(), now);
        }
        if (here) {
            enter(offered, now);
            if (accepted) {
                nowCommitted.accept(made.committed());
            }
        } else {
            stepOut();
        }
    }

    void received(int from, Packet.Fetch question) {
        if (!log.knowsBase()) {
            return;
        }
        View in = view;
        long limit;
        if (question.view() == 0) {
            limit = Math.min(committed.getAsLong(), log.end());
        } else if ((in != null && in.number() == question.view() && makes(in.number()))
                || (status == Status.FLUSHING && promiseSerial == 0 && question.view() == log.promised()
                        && View.maker(question.view(), links.configured()) == from)) {
            limit = log.end();
        } else {
            return;
        }
        transfer.answer(from, question, limit, committed.getAsLong());
    }

    void received(int from, Packet.Entries answer, long now) {
        if (!transfer.received(from, answer)) {
            return;
        }
        Attempt mine = attempt;
        View in = view;
        if (mine != null && mine.best >= 0 && answer.view() == mine.view) {
            Packet.Flushed chosen = mine.answers[mine.best];
            if (chosen != null) {
                install(mine, chosen, now);
            }
        } else if (in != null && !accepted && answer.view() == in.number()) {
            accept(in);
            nowCommitted.accept(answer.committed());
        }
    }

    void received(int from, Packet.Differs answer) {
        transfer.received(from, answer);
    }

    void received(int from, Packet.Forgotten answer) {
        if (transfer.received(from, answer)) {
            stepOut();
            status = Status.LOST;
            host.stateNeeded(answer.firstRetained());
        }
    }
}
