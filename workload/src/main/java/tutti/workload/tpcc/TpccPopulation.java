package tutti.workload.tpcc;

import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;

/**
 * The initial rows of clause 4.3.3.1. A pure function of scale and seed: the same rows, timestamps included, wherever
 * and in whatever order the parts are generated. Safe for use from any thread.
 *
 * @param scale how many rows
 * @param seed any number
 */
public record TpccPopulation(TpccScale scale, long seed) {
    /** When the initial orders were entered, customers registered and payments made. */
    public static final LocalDateTime LOADED_AT = LocalDateTime.of(2026, 1, 1, 0, 0);
    private static final int ROWS_PER_PART = 10_000;

    /**
     * Rows that are generated together: at most a few tens of thousands.
     *
     * @param table whose rows
     * @param warehouse 1 and up, or 0 for items
     * @param part number of the district for tables that have one; otherwise a range of items, counted from 0
     * @param rows how many; an estimate for order lines
     */
    public record Part(TpccTable table, int warehouse, int part, int rows) {}

    /** Everything, parents before children. */
    public List<Part> parts() {
        List<Part> parts = new ArrayList<>();
        addItemRanges(parts, TpccTable.ITEM, 0);
        for (int w = 1; w <= scale.warehouses(); w++) {
            parts.add(new Part(TpccTable.WAREHOUSE, w, 0, 1));
            addItemRanges(parts, TpccTable.STOCK, w);
            parts.add(new Part(TpccTable.DISTRICT, w, 0, scale.districts()));
            for (int d = 1; d <= scale.districts(); d++) {
                parts.add(new Part(TpccTable.CUSTOMER, w, d, scale.customers()));
                parts.add(new Part(TpccTable.HISTORY, w, d, scale.customers()));
                parts.add(new Part(TpccTable.ORDERS, w, d, scale.customers()));
                parts.add(new Part(TpccTable.NEW_ORDER, w, d, scale.undelivered()));
                parts.add(new Part(TpccTable.ORDER_LINE, w, d, scale.customers() * 10));
            }
        }
        return parts;
    }

    private void addItemRanges(List<Part> parts, TpccTable table, int warehouse) {
        for (int part = 0; part * ROWS_PER_PART < scale.items(); part++) {
            int rows = Math.min(ROWS_PER_PART, scale.items() - part * ROWS_PER_PART);
            parts.add(new Part(table, warehouse, part, rows));
        }
    }

    /** Writes the rows of one part, in order of their primary key. */
    public void generate(Part part, RowWriter to) {
        TpccRandom random = TpccRandom.of(seed, part.table.name(), part.warehouse, part.part);
        int w = part.warehouse;
        int d = part.part;
        switch (part.table) {
            case ITEM -> items(part, random, to);
            case WAREHOUSE -> warehouse(w, random, to);
            case STOCK -> stock(part, random, to);
            case DISTRICT -> districts(w, random, to);
            case CUSTOMER -> customers(w, d, random, to);
            case HISTORY -> history(w, d, random, to);
            case ORDERS -> orders(w, d, random, to);
            case NEW_ORDER -> newOrders(w, d, to);
            case ORDER_LINE -> orderLines(w, d, random, to);
        }
    }

    private void items(Part part, TpccRandom random, RowWriter to) {
        int first = part.part * ROWS_PER_PART + 1;
        for (int i = first; i < first + part.rows; i++) {
            to.integer(i);
            to.integer(random.uniform(1, 10_000));
            to.text(random.alphanumeric(14, 24));
            to.decimal(random.uniform(100, 10_000), 2);
            to.text(random.data());
            to.endRow();
        }
    }

    private void warehouse(int w, TpccRandom random, RowWriter to) {
        to.integer(w);
        to.text(random.alphanumeric(6, 10));
        address(random, to);
        to.decimal(random.uniform(0, 2_000), 4);
        to.decimal(1_000L * scale.customers() * scale.districts(), 2);
        to.endRow();
    }

    private void stock(Part part, TpccRandom random, RowWriter to) {
        int first = part.part * ROWS_PER_PART + 1;
        for (int i = first; i < first + part.rows; i++) {
            to.integer(part.warehouse);
            to.integer(i);
            to.integer(random.uniform(10, 100));
            for (int d = 0; d < 10; d++) {
                to.text(random.alphanumeric(24, 24));
            }
            to.integer(0);
            to.integer(0);
            to.integer(0);
            to.text(random.data());
            to.endRow();
        }
    }

    private void districts(int w, TpccRandom random, RowWriter to) {
        for (int d = 1; d <= scale.districts(); d++) {
            to.integer(w);
            to.integer(d);
            to.text(random.alphanumeric(6, 10));
            address(random, to);
            to.decimal(random.uniform(0, 2_000), 4);
            to.decimal(1_000L * scale.customers(), 2);
            to.integer(scale.customers() + 1L);
            to.endRow();
        }
    }

    private void customers(int w, int d, TpccRandom random, RowWriter to) {
        TpccConstants constants = TpccConstants.forLoad(seed);
        for (int c = 1; c <= scale.customers(); c++) {
            int name = c <= 1_000 ? c - 1 : random.nonUniform(255, constants.lastName(), 0, 999);
            to.integer(w);
            to.integer(d);
            to.integer(c);
            to.text(random.alphanumeric(8, 16));
            to.text("OE");
            to.text(TpccRandom.lastName(name));
            address(random, to);
            to.text(random.numeric(16));
            to.timestamp(LOADED_AT);
            to.text(random.percent(10) ? "BC" : "GC");
            to.decimal(5_000_000, 2);
            to.decimal(random.uniform(0, 5_000), 4);
            to.decimal(-1_000, 2);
            to.decimal(1_000, 2);
            to.integer(1);
            to.integer(0);
            to.text(random.alphanumeric(300, 500));
            to.endRow();
        }
    }

    private void history(int w, int d, TpccRandom random, RowWriter to) {
        for (int c = 1; c <= scale.customers(); c++) {
            to.integer(initialHistorySource(w, d));
            to.integer(c);
            to.integer(c);
            to.integer(d);
            to.integer(w);
            to.integer(d);
            to.integer(w);
            to.timestamp(LOADED_AT);
            to.decimal(1_000, 2);
            to.text(random.alphanumeric(12, 24));
            to.endRow();
        }
    }

    /** The {@code h_source} of a district's initial rows: negative, so that no run's terminal has it. */
    static long initialHistorySource(int w, int d) {
        return -(w * 1_000L + d);
    }

    private void orders(int w, int d, TpccRandom random, RowWriter to) {
        int[] customers = random.permutation(scale.customers());
        int[] lineCounts = lineCounts(w, d);
        for (int o = 1; o <= scale.customers(); o++) {
            to.integer(w);
            to.integer(d);
            to.integer(o);
            to.integer(customers[o - 1]);
            to.timestamp(LOADED_AT);
            if (o <= scale.delivered()) {
                to.integer(random.uniform(1, 10));
            } else {
                to.nothing();
            }
            to.integer(lineCounts[o - 1]);
            to.integer(1);
            to.endRow();
        }
    }

    private void newOrders(int w, int d, RowWriter to) {
        for (int o = scale.delivered() + 1; o <= scale.customers(); o++) {
            to.integer(w);
            to.integer(d);
            to.integer(o);
            to.endRow();
        }
    }

    private void orderLines(int w, int d, TpccRandom random, RowWriter to) {
        int[] lineCounts = lineCounts(w, d);
        for (int o = 1; o <= scale.customers(); o++) {
            for (int line = 1; line <= lineCounts[o - 1]; line++) {
                to.integer(w);
                to.integer(d);
                to.integer(o);
                to.integer(line);
                to.integer(random.uniform(1, scale.items()));
                to.integer(w);
                if (o <= scale.delivered()) {
                    to.timestamp(LOADED_AT);
                    to.integer(5);
                    to.decimal(0, 2);
                } else {
                    to.nothing();
                    to.integer(5);
                    to.decimal(random.uniform(1, 999_999), 2);
                }
                to.text(random.alphanumeric(24, 24));
                to.endRow();
            }
        }
    }

    // A stream of its own: orders and their lines are generated apart and must agree.
    private int[] lineCounts(int w, int d) {
        TpccRandom random = TpccRandom.of(seed, "lines per order", w, d);
        int[] counts = new int[scale.customers()];
        for (int o = 0; o < counts.length; o++) {
            counts[o] = random.uniform(5, 15);
        }
        return counts;
    }

    private static void address(TpccRandom random, RowWriter to) {
        to.text(random.alphanumeric(10, 20));
        to.text(random.alphanumeric(10, 20));
        to.text(random.alphanumeric(10, 20));
        to.text(random.alphanumeric(2, 2));
        to.text(random.zip());
    }
}
