package tutti.order.group;

import java.util.List;
import tutti.core.schema.Catalogue;
import tutti.core.schema.MessageSet;
import tutti.order.NodeLives;

/** What the nodes of a group order tell each other around the packets of their group, and what they keep. */
public final class GroupOrderCatalogue implements Catalogue {
    /** For {@link java.util.ServiceLoader}. */
    public GroupOrderCatalogue() {}

    @Override
    public List<MessageSet<?>> sets() {
        return List.of(Announcement.SET, Frame.SET, NodeLives.SET);
    }
}
