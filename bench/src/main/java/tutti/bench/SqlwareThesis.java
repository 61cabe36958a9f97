package tutti.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** What the SQLware thesis has measured: its tables 6 to 10, on its own machines. */
final class SqlwareThesis {
    /** One of its tables. */
    record Table(int number, String what, List<Line> lines) {}

    /** A line of one. */
    record Line(int warehouses, double abortPercent, double latencyMillis, double tpmC) {}

    static final List<Table> TABLES = List.of(
            new Table(6, "PostgreSQL, synchronous, one machine",
                    List.of(new Line(50, 4.3, 503.60, 1062.59), new Line(100, 2.5, 633.62, 856.33),
                            new Line(200, 1.0, 836.15, 643.78), new Line(400, 1.0, 1183.80, 433.92))),
            new Table(7, "PostgreSQL, asynchronous, one machine",
                    List.of(new Line(50, 3.9, 252.42, 2104.32), new Line(100, 2.0, 264.65, 2019.66),
                            new Line(200, 1.0, 373.48, 1433.21), new Line(400, 0.6, 371.66, 1463.29))),
            new Table(8, "SQLware, logged, one machine",
                    List.of(new Line(50, 0, 54.88, 5915.08), new Line(100, 0, 58.80, 9067.37),
                            new Line(200, 0, 58.40, 9300.83), new Line(400, 0, 59.35, 9172.23))),
            new Table(9, "PostgreSQL, synchronous, two large machines",
                    List.of(new Line(100, 2.6, 320.95, 1668.46), new Line(1000, 0.62, 710.84, 698.06),
                            new Line(2000, 0.62, 741.95, 679.82), new Line(3000, 0.54, 761.35, 670.38))),
            new Table(10, "SQLware, logged, two large machines",
                    List.of(new Line(100, 0, 4.43, 11870.66), new Line(1000, 0, 4.92, 102748.15),
                            new Line(2000, 0, 4.98, 103861.43), new Line(3000, 0, 5, 104006.84))));

    private SqlwareThesis() {}

    /** The tables as text. */
    static List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.add(
                "The thesis, on its own machines and with its own terminals; at logged it has no drained throughput:");
        for (Table table : TABLES) {
            for (Line line : table.lines) {
                lines.add(String.format(Locale.ROOT,
                        "table %2d, %-43s %,5d warehouses: %,11.2f tpmC, mean %,8.2f ms, aborted %4.2f %%",
                        table.number,
                        table.what, line.warehouses, line.tpmC, line.latencyMillis, line.abortPercent));
            }
        }
        return lines;
    }
}
