package tutti.node.copy;

import java.util.List;
import tutti.core.schema.Catalogue;
import tutti.core.schema.MessageSet;

/** What nodes tell each other about copies. */
public final class CopyCatalogue implements Catalogue {
    /** For {@link java.util.ServiceLoader}. */
    public CopyCatalogue() {}

    @Override
    public List<MessageSet<?>> sets() {
        return List.of(CopyMessage.SET);
    }
}
