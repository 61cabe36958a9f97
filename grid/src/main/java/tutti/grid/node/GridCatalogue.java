package tutti.grid.node;

import java.util.List;
import tutti.core.schema.Catalogue;
import tutti.core.schema.MessageSet;
import tutti.grid.commit.CommitRequest;
import tutti.grid.commit.GroupPayload;

/** What the nodes of a grid tell each other. */
public final class GridCatalogue implements Catalogue {
    /** For {@link java.util.ServiceLoader}. */
    public GridCatalogue() {}

    @Override
    public List<MessageSet<?>> sets() {
        return List.of(LinkMessage.set(), GridMessage.set(), CommitRequest.SET, GroupPayload.set());
    }
}
