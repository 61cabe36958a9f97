package tutti.grid.node;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.DecodeException;
import tutti.grid.GridConfig;
import tutti.grid.view.Layout;
import tutti.grid.view.View;
import tutti.grid.view.ViewMessage;

/**
 * What a {@link GridNode} is before it is a member: it applies to all nodes that it knows, until it is in a view. On the node's loop.
 *
 * <p>
 * <b>Founding.</b> When all nodes of the configuration apply, there is no grid, and each may found it: view 0, of their processes. Two that found it at a time name the same ones, unless a process was
 * started anew in between; then who names the one that is gone takes that node for dead, as it does with any process that comes in place of another. If for some time no more of them come, more than half
 * of them (or half, with the lowest) found it with unknown processes for the others, who are then left out and apply. None founds a grid while it hears of one that is there. So
 * a second one can come to be only when half of all founders or more have lost what they had, at one time, and cannot reach the others: then what those have is lost.
 */
final class Applicant {
    /** How much may wait until this node is a member, in bytes. */
    static final long HELD_BYTES_MAX = 64 << 20;

    private final GridConfig config;
    private final long process;
    /** When another node that founds the grid was heard for the first time, or this one was started. */
    private long newsNanos;
    private final PeerLinks links;
    private final Map<Integer, View.Member> others = new HashMap<>();
    private final HeldFrames held = new HeldFrames();
    private long nowNanos;
    /** When a grid was heard of that is there. */
    private @Nullable Long gridHeardNanos;
    private long clockSeen;

    Applicant(GridConfig config, long process, long nowNanos, PeerLinks links) {
        this.config = config;
        this.process = process;
        this.newsNanos = nowNanos;
        this.nowNanos = nowNanos;
        this.links = links;
    }

    /** What has come from members and waits until this node is one. */
    HeldFrames held() {
        return held;
    }

    /** The clock of who has told of the view. */
    long clockSeen() {
        return clockSeen;
    }

    /** A frame has come. Returns the view that this node is in, if that is known now. */
    @Nullable
    View received(int from, ByteBuffer frame) throws IOException {
        try {
            switch (GridMessage.set().decode(frame.slice().position(GridMessage.ENVELOPE_BYTES))) {
                case GridMessage.Apply apply -> {
                    links.applied(from, PeerLinks.address(apply.address()));
                    View.Member other = new View.Member(apply.process(), apply.address());
                    if (!other.equals(others.put(from, other))) {
                        newsNanos = nowNanos;
                    }
                }
                case ViewMessage.Installed installed -> {
                    View view = installed.view();
                    clockSeen = Math.max(clockSeen, frame.getLong(frame.position() + Long.BYTES));
                    if (view.has(config.self(), process)) {
                        return view;
                    }
                    others.clear();
                    gridHeardNanos = nowNanos;
                    view.processes().forEach((node, member) -> {
                        if (!member.address().isEmpty()) {
                            links.connect(node, PeerLinks.address(member.address()));
                        }
                    });
                }
                default -> {
                    if (held.bytes() + frame.remaining() > HELD_BYTES_MAX) {
                        throw new IOException("too much waits until this node is a member");
                    }
                    held.add(from, frame);
                }
            }
            return null;
        } catch (DecodeException wrong) {
            throw new IOException("node " + from + " has sent what no node would: " + wrong.getMessage(), wrong);
        }
    }

    /** Applies, again. Returns the first view, if this node may found the grid. */
    @Nullable
    View tick(long now) {
        nowNanos = now;
        GridMessage.Apply apply = new GridMessage.Apply(process,
                PeerLinks.text(config.nodes().get(config.self())), Set.of());
        byte[] frame = GridMessage.frame(0, 0, apply);
        links.nodes().stream().filter(links::isConnected).forEach(node -> links.send(node, frame));
        Long heard = gridHeardNanos;
        if (heard != null && now - heard <= config.failureTimeout().toNanos()) {
            return null;
        }
        Set<Integer> all = config.nodes().keySet();
        Map<Integer, View.Member> founders = new HashMap<>();
        all.forEach(node -> founders.put(node, View.Member.UNKNOWN));
        founders.put(config.self(), new View.Member(process, apply.address()));
        others.forEach((node, other) -> {
            if (all.contains(node) && links.knownProcess(node) == other.id()) {
                founders.put(node, other);
            }
        });
        Set<Integer> known = new TreeSet<>(all);
        known.removeIf(node -> founders.get(node).equals(View.Member.UNKNOWN));
        // As long as more of them come, others may know more, and found another grid.
        boolean late = now - newsNanos > config.operationTimeout().plus(config.failureTimeout()).toNanos();
        View first = new View(0, founders, Layout.first(all));
        return known.size() == all.size() || (late && first.isQuorum(known)) ? first : null;
    }
}
