package tutti.workload.tpcc;

import java.util.List;

/** What a user types in: the input of one transaction. */
public sealed interface TpccInput {
    /** Which transaction. */
    TpccTransaction type();

    /** The terminal's warehouse. */
    int warehouse();

    /**
     * Clause 2.4.1.
     *
     * @param lines 5 to 15; the last item does not exist in one order of a hundred, which must then be rolled back
     */
    record NewOrder(int warehouse, int district, int customer, List<Line> lines) implements TpccInput {
        public NewOrder {
            lines = List.copyOf(lines);
        }

        @Override
        public TpccTransaction type() {
            return TpccTransaction.NEW_ORDER;
        }

        /** Whether every line is supplied by the terminal's own warehouse. */
        public boolean allLocal() {
            return lines.stream().allMatch(line -> line.supplyWarehouse == warehouse);
        }
    }

    /** A line of an order. The same item may be on several. */
    record Line(int item, int supplyWarehouse, int quantity) {}

    /** Clause 2.5.1: the customer may belong to another warehouse. */
    record Payment(int warehouse, int district, int customerWarehouse, int customerDistrict, Customer customer,
            long amountCents) implements TpccInput {
        @Override
        public TpccTransaction type() {
            return TpccTransaction.PAYMENT;
        }
    }

    /** Clause 2.6.1. */
    record OrderStatus(int warehouse, int district, Customer customer) implements TpccInput {
        @Override
        public TpccTransaction type() {
            return TpccTransaction.ORDER_STATUS;
        }
    }

    /** Clause 2.7.1: the oldest order of every district of the warehouse. */
    record Delivery(int warehouse, int carrier) implements TpccInput {
        @Override
        public TpccTransaction type() {
            return TpccTransaction.DELIVERY;
        }
    }

    /** Clause 2.8.1. */
    record StockLevel(int warehouse, int district, int threshold) implements TpccInput {
        @Override
        public TpccTransaction type() {
            return TpccTransaction.STOCK_LEVEL;
        }
    }

    /** How a customer is found. */
    sealed interface Customer {
        /** By number. */
        record ById(int id) implements Customer {}

        /** By last name: of those who share it the one in the middle, ordered by first name, rounded up. */
        record ByLastName(String name) implements Customer {}
    }
}
