package tutti.order.raft;

import java.util.List;
import tutti.core.schema.Catalogue;
import tutti.core.schema.MessageSet;
import tutti.order.batch.Batch;
import tutti.order.peer.Greeting;

/** What the nodes of a Raft order tell each other, and what they keep. */
public final class RaftCatalogue implements Catalogue {
    /** For {@link java.util.ServiceLoader}. */
    public RaftCatalogue() {}

    @Override
    public List<MessageSet<?>> sets() {
        return List.of(Greeting.SET, PeerMessage.SET, Batch.SET, GroupChange.SET, LogSegment.SET, RaftFiles.SET);
    }
}
