package tutti.workload.tpcc;

import java.util.List;

/** What a transaction found and did, before it is committed: as much of clause 2's output as anyone has to remember. */
public sealed interface TpccOutput {
    /**
     * An order was entered.
     *
     * @param order its number
     * @param totalCents what the customer has to pay, tax and discount included, in cents
     */
    record NewOrder(int order, long totalCents) implements TpccOutput {}

    /** An item does not exist: the transaction must be rolled back, and that is a success (clause 2.4.2.3). */
    record UnknownItem() implements TpccOutput {}

    /** A customer has paid. */
    record Payment(int customer, long balanceCents) implements TpccOutput {}

    /**
     * The customer's last order.
     *
     * @param order 0 if the customer has none
     */
    record OrderStatus(int customer, int order, int lines) implements TpccOutput {}

    /** Orders were delivered; districts without undelivered orders are skipped (clause 2.7.4.2). */
    record Delivery(List<DeliveredOrder> orders) implements TpccOutput {
        public Delivery {
            orders = List.copyOf(orders);
        }
    }

    /** One of a delivery's orders. */
    record DeliveredOrder(int district, int order) {}

    /** How many recently sold items are low in stock. */
    record StockLevel(int lowItems) implements TpccOutput {}
}
