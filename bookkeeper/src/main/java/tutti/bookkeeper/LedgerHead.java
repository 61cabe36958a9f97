package tutti.bookkeeper;

import java.util.List;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.order.batch.SenderTable;

/**
 * With what a ledger begins: what must be known of those before it to number its messages. So a reader and the next writer need one ledger
 * only.
 *
 * @param table of senders, with the last position that was given out
 */
record LedgerHead(SenderTable.Image table) implements Encoded {
    static final Schema<LedgerHead> SCHEMA = Schema
            .message("ledger-head", 1, LedgerHead.class, "What must be known to number a ledger's messages.")
            .of(Field.of("table", SenderTable.Image.SCHEMA, LedgerHead::table), LedgerHead::new);

    /** It alone. */
    static final MessageSet<LedgerHead> SET = new MessageSet<>("ledger heads",
            "The first entry of a ledger of a log in BookKeeper. The others are a byte, 1 if more of the same batch follows in the next"
                    + " entry and otherwise 0, and a batch of log entries or a part of one.",
            List.of(SCHEMA));
}
