package tutti.workload.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What users type in, and the population: the distributions of the specification, the same for the same seed. */
class TpccInputsTest {
    private static final TpccScale SCALE = TpccScale.standard(4);

    @Test
    void sameSeedSameInputs() {
        assertEquals(draw(1, 500), draw(1, 500));
        assertNotEquals(draw(1, 500), draw(2, 500));
    }

    @Test
    void mixAndRatesAreTheStandards() {
        List<TpccInput> inputs = draw(3, 50_000);
        Map<TpccTransaction, Integer> counts = new EnumMap<>(TpccTransaction.class);
        int lines = 0;
        int remoteLines = 0;
        int rollbacks = 0;
        int remotePayments = 0;
        int byName = 0;
        for (TpccInput input : inputs) {
            counts.merge(input.type(), 1, Integer::sum);
            assertEquals(2, input.warehouse());
            switch (input) {
                case TpccInput.NewOrder order -> {
                    assertTrue(order.lines().size() >= 5 && order.lines().size() <= 15);
                    lines += order.lines().size();
                    remoteLines += (int) order.lines().stream().filter(line -> line.supplyWarehouse() != 2).count();
                    rollbacks += order.lines().getLast().item() == SCALE.items() + 1 ? 1 : 0;
                    assertTrue(order.customer() >= 1 && order.customer() <= 3_000);
                }
                case TpccInput.Payment payment -> {
                    remotePayments += payment.customerWarehouse() != 2 ? 1 : 0;
                    byName += payment.customer() instanceof TpccInput.Customer.ByLastName ? 1 : 0;
                    assertTrue(payment.amountCents() >= 100 && payment.amountCents() <= 500_000);
                }
                case TpccInput.StockLevel level -> assertEquals(6, level.district());
                default -> {
                }
            }
        }
        for (TpccTransaction type : TpccTransaction.values()) {
            near(type.percent(), 100.0 * counts.get(type) / inputs.size(), 1);
        }
        near(1, 100.0 * rollbacks / counts.get(TpccTransaction.NEW_ORDER), 0.4);
        near(1, 100.0 * remoteLines / lines, 0.3);
        near(15, 100.0 * remotePayments / counts.get(TpccTransaction.PAYMENT), 1.5);
        near(60, 100.0 * byName / counts.get(TpccTransaction.PAYMENT), 2);
    }

    @Test
    void thinkTimesHaveTheirMeanAndAnEnd() {
        TpccInputs inputs = new TpccInputs(SCALE, TpccConstants.forLoad(1), 1, 0, 1, 1);
        double mean = IntStream.range(0, 20_000).mapToDouble(_ -> inputs.thinking(TpccTransaction.PAYMENT).toMillis())
                .peek(millis -> assertTrue(millis <= 120_000)).average().orElseThrow();
        near(12_000, mean, 400);
    }

    @Test
    void runConstantOfLastNamesKeepsItsDistance() {
        for (int seed = 0; seed < 2_000; seed++) {
            TpccConstants load = TpccConstants.forLoad(seed);
            int delta = Math.abs(TpccConstants.forRun(load, seed * 31L).lastName() - load.lastName());
            assertTrue(delta >= 65 && delta <= 119 && delta != 96 && delta != 112, "delta " + delta);
        }
    }

    @Test
    void lastNamesAreMadeOfSyllables() {
        assertEquals("BARBARBAR", TpccRandom.lastName(0));
        assertEquals("PRICALLYOUGHT", TpccRandom.lastName(371));
        assertEquals("EINGEINGEING", TpccRandom.lastName(999));
    }

    @Test
    void populationDependsOnItsSeedOnly() {
        TpccPopulation population = new TpccPopulation(TpccScale.reduced(1), 5);
        List<String> once = population.parts().stream().map(part -> text(population, part)).toList();
        List<String> backwards = new ArrayList<>(
                population.parts().reversed().stream().map(part -> text(population, part)).toList());
        assertEquals(once, backwards.reversed());
        TpccPopulation other = new TpccPopulation(TpccScale.reduced(1), 6);
        assertNotEquals(once, other.parts().stream().map(part -> text(other, part)).toList());
    }

    @Test
    void standardPopulationHasTheStandardsNumberOfRows() {
        long rows = new TpccPopulation(TpccScale.standard(3), 1).parts().stream().mapToLong(TpccPopulation.Part::rows)
                .sum();
        assertEquals(100_000 + 3 * (1 + 100_000 + 10 + 10 * (3_000 + 3_000 + 3_000 + 900 + 30_000)), rows);
        assertTrue(TpccScale.reduced(3).toString().contains("not TPC-C"));
        assertThrows(IllegalArgumentException.class, () -> TpccScale.standard(0));
    }

    private static String text(TpccPopulation population, TpccPopulation.Part part) {
        StringBuilder text = new StringBuilder();
        CopyRows rows = new CopyRows(1_000_000, (bytes, length, _) -> text
                .append(new String(bytes, 0, length, java.nio.charset.StandardCharsets.US_ASCII)));
        population.generate(part, rows);
        rows.flush();
        return text.toString();
    }

    private static List<TpccInput> draw(long seed, int count) {
        TpccInputs inputs = new TpccInputs(SCALE, TpccConstants.forRun(TpccConstants.forLoad(9), seed), seed, 3, 2, 6);
        return IntStream.range(0, count).mapToObj(_ -> inputs.next()).toList();
    }

    private static void near(double expected, double actual, double tolerance) {
        assertEquals(expected, actual, tolerance);
    }
}
