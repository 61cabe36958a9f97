package tutti.group;

import java.util.List;
import tutti.core.schema.Catalogue;
import tutti.core.schema.MessageSet;

/** The packets of a group, what they carry, and what its members keep. */
public final class GroupCatalogue implements Catalogue {
    /** For {@link java.util.ServiceLoader}. */
    public GroupCatalogue() {}

    @Override
    public List<MessageSet<?>> sets() {
        return List.of(Packet.SET, Packet.Body.SET, StableRecord.SET);
    }
}
