package tutti.node;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import tutti.core.protocol.Protocol;

/**
 * Takes snapshots of a node's state after some position, which with the order's log behind it make up all of it, and has
 * the node begin with the newest that its database has reached. Of the replica's loop.
 */
final class Snapshots {
    private final NodeFiles files;
    private final Protocol protocol;
    private final Outcomes outcomes;
    private final Ballots ballots;
    private final LogContinuity continuity;
    private final Members members;
    private final Placements placements;
    private final LostKeys lostKeys;

    Snapshots(NodeFiles files, Protocol protocol, Outcomes outcomes, Ballots ballots, LogContinuity continuity,
            Members members, Placements placements, LostKeys lostKeys) {
        this.files = files;
        this.protocol = protocol;
        this.outcomes = outcomes;
        this.ballots = ballots;
        this.continuity = continuity;
        this.members = members;
        this.placements = placements;
        this.lostKeys = lostKeys;
    }

    /** After the position that was delivered last; to be {@linkplain #complete completed} when that is visible. */
    byte[] take(long position) {
        byte[] snapshot = new NodeSnapshot(position, continuity.lastDigest(), protocol.snapshot(), outcomes.image(),
                ballots.image()).bytes();
        if (!ballots.tables().isEmpty()) {
            snapshot = new BallotTablesSnapshot(snapshot, ballots.tables()).bytes();
        }
        if (placements.hasChanged()) {
            snapshot = new PlacementSnapshot(snapshot, placements.tables()).bytes();
        }
        return members.now().number() == 0 ? snapshot : new MemberSnapshot(snapshot, members.now()).bytes();
    }

    /** As files have it: with what only the pipeline knows, who was delivered the position earlier than it is visible. */
    byte[] complete(byte[] taken) {
        byte[] state = lostKeys.isEmpty() ? taken : new LostKeysSnapshot(taken, lostKeys.image()).bytes();
        LostReleases releases = lostKeys.releases();
        return releases.isEmpty() ? state : new LostReleasesSnapshot(state, releases.image()).bytes();
    }

    /**
     * Restores the newest one, once, before anything else.
     *
     * @param held position that the engine holds
     * @return after which position it was taken; 0 if there is none
     * @throws IOException if it cannot be read
     */
    long restore(long held) throws IOException {
        Optional<NodeFiles.Snapshot> newest = files.newestUpTo(held);
        if (newest.isEmpty()) {
            return 0;
        }
        NodeFiles.Snapshot file = newest.get();
        try {
            byte[] state = file.state();
            if (NodeFiles.SET.decode(ByteBuffer.wrap(state)) instanceof LostReleasesSnapshot(byte[] inner, var lost)) {
                lostKeys.releases().restore(lost);
                state = inner;
            }
            if (NodeFiles.SET.decode(ByteBuffer.wrap(state)) instanceof LostKeysSnapshot(byte[] inner, var lost)) {
                lostKeys.restore(lost);
                state = inner;
            }
            if (NodeFiles.SET.decode(ByteBuffer.wrap(state)) instanceof MemberSnapshot(byte[] inner, var list)) {
                members.restore(list);
                state = inner;
            }
            if (NodeFiles.SET.decode(ByteBuffer.wrap(state)) instanceof PlacementSnapshot(byte[] inner, var placed)) {
                placements.restore(placed);
                state = inner;
            }
            Map<Long, Set<Long>> tables = Map.of();
            if (NodeFiles.SET.decode(ByteBuffer.wrap(state)) instanceof BallotTablesSnapshot(byte[] inner, var read)) {
                tables = read;
                state = inner;
            }
            NodeSnapshot snapshot = NodeFiles.SET.decode(ByteBuffer.wrap(state), NodeSnapshot.class);
            if (snapshot.position() != file.position()) {
                throw new IllegalArgumentException("it was taken after position " + snapshot.position());
            }
            protocol.restore(snapshot.protocol());
            outcomes.restore(snapshot.outcomes());
            ballots.restore(snapshot.ballots(), tables);
            continuity.begin(snapshot.position(), snapshot.digest());
        } catch (IllegalArgumentException unusable) {
            throw new IOException("the snapshot of position " + file.position() + " in " + files.location()
                    + " cannot be used: " + unusable.getMessage()
                    + "; start the node with the software and the protocol"
                    + " parameters that wrote it, or " + NodeFiles.REMEDY, unusable);
        }
        return file.position();
    }
}
