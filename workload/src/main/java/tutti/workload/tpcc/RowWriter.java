package tutti.workload.tpcc;

import java.time.LocalDateTime;

/** Takes generated rows, value by value in the order of the table's columns. */
public interface RowWriter {
    /** An integer. */
    void integer(long value);

    /** A decimal number: {@code unscaled} / 10^{@code scale}; a scale of 1 to 4. */
    void decimal(long unscaled, int scale);

    /** Letters, digits, spaces and full stops only. */
    void text(String value);

    /** A time without zone, taken to be UTC. */
    void timestamp(LocalDateTime value);

    /** NULL. */
    void nothing();

    /** The row is complete. */
    void endRow();
}
