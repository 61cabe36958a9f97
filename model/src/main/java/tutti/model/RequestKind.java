package tutti.model;

import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.workload.tpcc.TpccTransaction;

/** What a client may ask for: the five transactions of TPC-C, the maintenance of AKARA section 4.1, and whatever was recorded. */
public enum RequestKind {
    /** Adds an order. */
    NEW_ORDER("neworder", TpccTransaction.NEW_ORDER),
    /** Pays. */
    PAYMENT("payment", TpccTransaction.PAYMENT),
    /** Reads a customer's last order. */
    ORDER_STATUS("orderstatus", TpccTransaction.ORDER_STATUS),
    /** Delivers the oldest order of each district of a warehouse. */
    DELIVERY("delivery", TpccTransaction.DELIVERY),
    /** Counts what is low in stock. */
    STOCK_LEVEL("stocklevel", TpccTransaction.STOCK_LEVEL),
    /** Changes the prices of items, or the structure of a table. */
    MAINTENANCE("maintenance", null),
    /** Of a recorded workload: changes nothing. */
    READ("read", null),
    /** Of a recorded workload: changes something. */
    UPDATE("update", null);

    /** Those that clients of the model draw; the others are read from a recording. */
    public static final List<RequestKind> DRAWN = List.of(NEW_ORDER, PAYMENT, ORDER_STATUS, DELIVERY, STOCK_LEVEL,
            MAINTENANCE);

    private final String label;
    private final @Nullable TpccTransaction tpcc;

    RequestKind(String label, @Nullable TpccTransaction tpcc) {
        this.label = label;
        this.tpcc = tpcc;
    }

    /** As scenario files and reports call it. */
    public String label() {
        return label;
    }

    /** The transaction of TPC-C, or null. */
    public @Nullable TpccTransaction tpcc() {
        return tpcc;
    }

    /** Whether it changes nothing. */
    public boolean readOnly() {
        return this == ORDER_STATUS || this == STOCK_LEVEL || this == READ;
    }
}
