package tutti.core.recorded;

import java.util.List;
import tutti.core.schema.Catalogue;
import tutti.core.schema.MessageSet;

/** What is in recordings of workloads. */
public final class RecordedCatalogue implements Catalogue {
    /** For {@link java.util.ServiceLoader}. */
    public RecordedCatalogue() {}

    @Override
    public List<MessageSet<?>> sets() {
        return List.of(RecordedNode.SET);
    }
}
