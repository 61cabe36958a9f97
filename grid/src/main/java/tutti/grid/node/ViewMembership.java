package tutti.grid.node;

import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.Set;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.schema.Encoded;
import tutti.grid.GridException;
import tutti.grid.commit.Commits;
import tutti.grid.view.View;
import tutti.grid.view.ViewAgreement;
import tutti.grid.view.ViewEntry;
import tutti.grid.view.ViewMessage;

/**
 * Members that agree on who they are, in views. What was sent in a later view than this node {@linkplain ViewEntry goes by} waits until it has entered that; what comes from outside of the view that was agreed on last is
 * dropped, but for what agrees on views and who applies. A heartbeat names the last view, so tells who has closed the one before.
 *
 * <p>
 * A node that was not heard for the failure timeout is suspected; a majority then goes on without it. Keys are {@linkplain Relocation moved} then.
 */
final class ViewMembership implements Membership {
    private static final Logger LOGGER = LoggerFactory.getLogger(ViewMembership.class);

    private final Shared shared;
    private final Commits commits;
    private final Member member;
    private final long process;
    private final int[] degrees;
    private final ViewEntry entry;
    private final ViewAgreement agreement;
    private final Relocation relocation;
    private final HeldFrames held;
    /** Nodes as which another process has come. */
    private final Set<Integer> superseded = new HashSet<>();

    /**
     * In a view.
     *
     * @param process of this node
     * @param degrees of the caches
     * @param held what has come and must wait
     */
    ViewMembership(Shared shared, Commits commits, Member member, View first, long process, int[] degrees,
            Relocation relocation, HeldFrames held) {
        this.shared = shared;
        this.commits = commits;
        this.member = member;
        this.process = process;
        this.degrees = degrees;
        this.relocation = relocation;
        this.held = held;
        entry = new ViewEntry(first);
        agreement = new ViewAgreement(shared.self(), first,
                Math.toIntExact(Math.max(1, shared.config().failureTimeout().dividedBy(shared.config().heartbeat()))),
                this::send, this::install);
        agreement.wish(relocation::wish);
    }

    @Override
    public void begin() {
        View first = view();
        shared.hearing().start(first.members(), shared.machineClock().nanoTime(), 0);
        commits.view(first.number(), new TreeSet<>(first.members()));
        relocation.installed(first);
    }

    // ------------------------------------------------------------------------------------------ what is so

    @Override
    public View view() {
        return agreement.view();
    }

    @Override
    public View entered() {
        return entry.entered();
    }

    private boolean isInLastView() {
        return entered().number() == view().number();
    }

    @Override
    public boolean isMember(int node) {
        return view().has(node);
    }

    @Override
    public boolean isLost() {
        return relocation.isLost();
    }

    @Override
    public long missing(Set<Integer> asked, int degree) {
        long missing = entered().layout().readers().stream().filter(node -> !asked.contains(node)).count();
        return missing < degree ? 0 : missing;
    }

    @Override
    public boolean mayForget() {
        return isInLastView();
    }

    // ------------------------------------------------------------------------------------------ what is asked for

    @Override
    public void leave() {
        if (!relocation.mayLeave()) {
            throw new GridException(GridException.Reason.NOT_ENOUGH_OWNERS, "node " + shared.self()
                    + " cannot leave: fewer nodes than a cache's degree would be left; add nodes first, or close it");
        }
        relocation.leave();
    }

    @Override
    public void acceptLoss() {
        relocation.acceptLoss();
    }

    // ------------------------------------------------------------------------------------------ what has come

    @Override
    public void superseded(int node) {
        superseded.add(node);
    }

    private void send(int to, ViewMessage message) {
        if (to == shared.self()) {
            member.later(() -> {
                if (!member.isOver()) {
                    agreement.received(to, message);
                }
            });
        } else if (!(message instanceof ViewMessage.Prepare) || shared.links().isConnected(to)) {
            // Ballots follow each other for as long as there is no majority: those for who cannot be reached would wait without end.
            member.send(to, message);
        }
    }

    @Override
    public boolean isEarly(int from, ByteBuffer frame) {
        long sent = frame.getLong(frame.position());
        if (sent > entered().number() && view().has(from)) {
            shared.clock().seen(frame.getLong(frame.position() + Long.BYTES));
            closed(from, sent);
        }
        if (sent <= entered().number() && !held.has(from)) {
            return false;
        }
        // What agrees on views must not wait for one.
        if (GridMessage.set()
                .decode(frame.slice().position(GridMessage.ENVELOPE_BYTES)) instanceof ViewMessage message) {
            agreement.received(from, message);
        } else {
            held.add(from, frame);
        }
        return true;
    }

    @Override
    public boolean takes(int from, Encoded message, long stamp) {
        if (message instanceof ViewMessage change) {
            agreement.received(from, change);
        } else if (message instanceof GridMessage.Apply apply) {
            applies(from, apply);
        } else if (!view().has(from)) {
            agreement.tell(from);
        } else {
            return false;
        }
        return true;
    }

    private void applies(int from, GridMessage.Apply apply) {
        shared.links().applied(from, PeerLinks.address(apply.address()));
        if (!view().has(from, apply.process())) {
            relocation.applied(from, new View.Member(apply.process(), apply.address()));
        }
        // It learns of its view, or of the members to apply to.
        agreement.tell(from);
    }

    @Override
    public boolean received(int from, Encoded message) {
        switch (message) {
            case GridMessage.Fetch fetch -> relocation.fetch(from, fetch);
            case GridMessage.Copies copies -> relocation.copies(from, copies);
            default -> {
                return false;
            }
        }
        return true;
    }

    @Override
    public void heartbeat(int from, GridMessage.Heartbeat heartbeat, boolean isPresent) {
        if (heartbeat.view() < view().number()) {
            agreement.tell(from);
        }
        // Who says it before it enters the view that it names may still ask others for what they would forget.
        boolean counts = isPresent && heartbeat.view() == entered().number();
        closed(from, heartbeat.view());
        if (counts) {
            shared.heartbeats().said(from, heartbeat);
            timesHeard();
            relocation.heard(from, heartbeat.moving());
        }
    }

    private void timesHeard() {
        shared.times().heard(shared.heartbeats().timesOfOthers(shared.self()), entered().members().size() - 1);
    }

    // ------------------------------------------------------------------------------------------ time and views

    @Override
    public GridMessage.Moving tick() {
        Set<Integer> unheard = shared.unheard(view().members());
        view().members().forEach(node -> agreement.suspect(node, unheard.contains(node) || superseded.contains(node)));
        GridMessage.Moving moving = isInLastView() ? relocation.say() : GridMessage.Moving.NOTHING;
        agreement.tick();
        return moving;
    }

    @Override
    public Set<Integer> say(GridMessage.Moving moving) {
        Set<Integer> members = new TreeSet<>(view().members());
        GridMessage.Heartbeat heartbeat = member.heartbeat(moving);
        // For who cannot be reached, and may not be left out, they would wait without end.
        members.stream().filter(node -> node != shared.self() && shared.links().isConnected(node))
                .forEach(node -> member.send(node, heartbeat));
        return members;
    }

    private void install(View view) {
        if (!view.has(shared.self(), process)) {
            member.excluded(view);
            return;
        }
        LOGGER.info("node {} of grid {} goes on in {}", shared.self(), shared.config().name(), view);
        superseded.clear();
        shared.links().members(view.processes());
        Hearing hearing = shared.hearing();
        long now = shared.machineClock().nanoTime();
        view.members().stream().filter(hearing::isNew).forEach(node -> hearing.heard(node, now));
        hearing.retain(view.members());
        held.retain(view.members());
        if (entry.lacksSomebody(view)) {
            member.ownersChanged();
            var _ = say(GridMessage.Moving.NOTHING);
        }
        closed(shared.self(), view.number());
    }

    private void closed(int node, long number) {
        entry.closed(node, number);
        enter();
    }

    /** Goes on in the last view, if it may now. */
    private void enter() {
        if (!entry.enter(view())) {
            return;
        }
        View view = entered();
        shared.heartbeats().clear();
        if (view.layout().number() > shared.layouts().number()) {
            shared.layouts().next(view.layout().number(), Relocation.owners(view.layout(), degrees));
        }
        commits.view(view.number(), new TreeSet<>(view.members()));
        shared.l1().installed();
        relocation.installed(view);
        member.ownersChanged();
        timesHeard();
        member.later(member::dispatchHeld);
    }
}
