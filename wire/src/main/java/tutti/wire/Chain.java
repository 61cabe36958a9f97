package tutti.wire;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** How does the transaction begin that COMMIT AND CHAIN asks for? With the characteristics of the one before. */
final class Chain {
    /** Returns the characteristics as one row. */
    static final String CHARACTERISTICS = "SELECT current_setting('transaction_isolation'),"
            + " current_setting('transaction_read_only'), current_setting('transaction_deferrable')";

    private Chain() {}

    static String begin(List<@Nullable String> row) {
        if (row.size() != 3) {
            return "BEGIN";
        }
        return "BEGIN ISOLATION LEVEL " + row.get(0) + ("on".equals(row.get(1)) ? " READ ONLY" : " READ WRITE")
                + ("on".equals(row.get(2)) ? " DEFERRABLE" : " NOT DEFERRABLE");
    }
}
