package tutti.order.raft;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import tutti.order.peer.PeerNetwork;
import tutti.runtime.Clock;
import tutti.runtime.Loop;

/**
 * Tells the others from time to time how far this node has got, if that is more, and whoever has come back what it may have missed: who was
 * given copies, and who the members are. Notes what the others have told. Of Raft's loop.
 */
final class KeptNotices {
    /** So often what others have told of themselves is noted in files. */
    private static final long NOTES_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final RaftOrderConfig config;
    private final Clock clock;
    private final Loop loop;
    private final NodeDirectory directory;
    private final MetNodes met;
    private final SegmentedLog log;
    private final CommittedEntries committed;
    private final PeerNetwork peers;
    private final Membership membership;
    private final RaftTransport.Host host;
    private PeerMessage.@Nullable Kept told;
    private long savedNanos;

    KeptNotices(RaftOrderConfig config, Clock clock, Loop loop, NodeDirectory directory, MetNodes met, SegmentedLog log,
            CommittedEntries committed, PeerNetwork peers, Membership membership, RaftTransport.Host host) {
        this.config = config;
        this.clock = clock;
        this.loop = loop;
        this.directory = directory;
        this.met = met;
        this.log = log;
        this.committed = committed;
        this.peers = peers;
        this.membership = membership;
        this.host = host;
        savedNanos = clock.nanoTime();
    }

    /** Others are there than before, or there is more to tell: all is told again. */
    void again() {
        told = null;
    }

    /** Begins. */
    void tell() {
        if (host.isStopped()) {
            return;
        }
        try {
            long now = clock.nanoTime();
            if (now - savedNanos > NOTES_NANOS && !met.saveNext()) {
                savedNanos = now;
            }
            PeerMessage.Kept kept = new PeerMessage.Kept(directory.term(), directory.votedFor() != null,
                    committed.index());
            if (told == null) {
                met.replacements().forEach(each -> peers.send(membership.all(), each));
                if (membership.list().changed()) {
                    peers.send(membership.all(), new PeerMessage.Members(membership.list().now()));
                }
            }
            if (!kept.equals(told)) {
                log.flush();
                told = kept;
                peers.send(membership.all(), kept);
            }
        } catch (IOException broken) {
            host.fail(broken);
        }
        var _ = loop.schedule(config.failureTimeout().toNanos() / 4, this::tell);
    }
}
