package tutti.wire;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** The transaction that COMMIT AND CHAIN asks for, which has the characteristics of the one before. */
final class ChainedTransaction {
    /** Returns the characteristics as one row. */
    static final String CHARACTERISTICS = "SELECT pg_catalog.current_setting('transaction_isolation'),"
            + " pg_catalog.current_setting('transaction_read_only'),"
            + " pg_catalog.current_setting('transaction_deferrable')";

    private ChainedTransaction() {}

    /** The statement that begins it, from what {@link #CHARACTERISTICS} returned. */
    static String begin(List<@Nullable String> row) {
        if (row.size() != 3) {
            return "BEGIN";
        }
        return "BEGIN ISOLATION LEVEL " + row.get(0) + ("on".equals(row.get(1)) ? " READ ONLY" : " READ WRITE")
                + ("on".equals(row.get(2)) ? " DEFERRABLE" : " NOT DEFERRABLE");
    }
}
