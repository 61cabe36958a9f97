package tutti.bookkeeper;

import java.util.List;
import tutti.core.schema.Catalogue;
import tutti.core.schema.MessageSet;

/** What the nodes of an order whose log is in BookKeeper tell each other, and what they keep there and in ZooKeeper. */
public final class BookKeeperCatalogue implements Catalogue {
    /** For {@link java.util.ServiceLoader}. */
    public BookKeeperCatalogue() {}

    @Override
    public List<MessageSet<?>> sets() {
        return List.of(LedgerMessage.SET, LedgerHead.SET, LedgerList.SET);
    }
}
