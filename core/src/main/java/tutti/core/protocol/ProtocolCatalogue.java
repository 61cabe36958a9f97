package tutti.core.protocol;

import java.util.ArrayList;
import java.util.List;
import tutti.core.schema.Catalogue;
import tutti.core.schema.MessageSet;

/** The messages of all protocols, and what they keep. */
public final class ProtocolCatalogue implements Catalogue {
    /** For {@link java.util.ServiceLoader}. */
    public ProtocolCatalogue() {}

    @Override
    public List<MessageSet<?>> sets() {
        List<MessageSet<?>> sets = new ArrayList<>();
        for (ProtocolDescriptor protocol : Protocols.STANDARD.all()) {
            if (!sets.contains(protocol.messages())) {
                sets.add(protocol.messages());
            }
        }
        sets.add(Snapshots.SET);
        return sets;
    }
}
