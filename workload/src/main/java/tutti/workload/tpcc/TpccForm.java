package tutti.workload.tpcc;

import java.util.Locale;

/** How transactions are handed to the database. */
public enum TpccForm {
    /** Statement by statement, in transaction blocks. */
    INTERACTIVE,
    /** Whole: each is one call of a function, which commits by itself. */
    STORED;

    /** As options call it. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
