package tutti.bench.micro;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class CertificationMeasurementTest {
    @Test
    void reportsSpeedMemoryAndSpreadForEachNumberOfKeys() throws Exception {
        List<CertificationMeasurement.Found> found = new CertificationMeasurement(1, 0, 2, 100, List.of(50_000, 20_000))
                .run(false);
        assertEquals(List.of(20_000, 50_000), found.stream().map(CertificationMeasurement.Found::liveKeys).toList());
        for (CertificationMeasurement.Found row : found) {
            assertEquals(2, row.iterations());
            assertTrue(0 < row.minPerSecond() && row.minPerSecond() <= row.medianPerSecond()
                    && row.medianPerSecond() <= row.maxPerSecond(), row.toString());
            assertTrue(row.perCpuSecond() > 0, row.toString());
            assertTrue(row.bytesPerLiveKey() > 20 && row.bytesPerLiveKey() <= 40, row.toString());
        }
    }
}
