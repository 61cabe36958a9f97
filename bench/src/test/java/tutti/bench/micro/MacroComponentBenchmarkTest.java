package tutti.bench.micro;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class MacroComponentBenchmarkTest {
    @Test
    void theTableHasTimesAndWhatACallCostsMore() {
        String table = MacroComponentBenchmark.table(List.of(
                new MacroComponentBenchmark.Row("HashMap", Map.of("get", 3.0, "put", 5.0, "mixed", 4.0), Map.of()),
                new MacroComponentBenchmark.Row("macro of 1", Map.of("get", 14.0, "put", 60.0, "mixed", 20.0),
                        Map.of()),
                new MacroComponentBenchmark.Row("sorted", Map.of("search", 1500.0), Map.of("search", 20.0))));
        assertTrue(table.lines().anyMatch(l -> l.startsWith("macro of 1") && l.contains("14.0 (   +11.0)")), table);
        assertTrue(table.lines().anyMatch(l -> l.startsWith("sorted") && l.contains("1.50 (±   0.02)")), table);
    }
}
