package tutti.bench;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CaptureBenchmarkTest {
    @Test
    void theTableSaysWhatCaptureAdds() {
        Map<String, Double> times = new LinkedHashMap<>();
        times.put("H2 none", 20.0);
        times.put("H2 NOTES", 25.0);
        String table = CaptureBenchmark.table(times);
        assertTrue(table.contains("+25.0 %"), table);
    }
}
