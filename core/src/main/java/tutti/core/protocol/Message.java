package tutti.core.protocol;

import org.jspecify.annotations.Nullable;
import tutti.core.schema.Encoded;
import tutti.core.txn.TransactionId;

/** Something that one replica's protocol tells the others. Each protocol has its own; immutable. */
public interface Message extends Encoded {
    /** The transaction that it is about; null if it is about none, or several. */
    default @Nullable TransactionId transaction() {
        return null;
    }
}
