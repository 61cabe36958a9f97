package tutti.node;

import java.util.List;
import tutti.core.protocol.Protocols;
import tutti.core.schema.Catalogue;
import tutti.core.schema.MessageSet;

/** What nodes tell each other through the total order, and what they keep. */
public final class NodeCatalogue implements Catalogue {
    /** For {@link java.util.ServiceLoader}. */
    public NodeCatalogue() {}

    @Override
    public List<MessageSet<?>> sets() {
        return List.of(new Control.Messages(Protocols.STANDARD.choose(Protocols.DEFAULT).messages()).set(),
                VisibilityMessage.SET, NodeFiles.SET);
    }
}
