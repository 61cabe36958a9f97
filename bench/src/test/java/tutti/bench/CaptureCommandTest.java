package tutti.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import tutti.bench.micro.Microbenchmark.Found;

class CaptureCommandTest {
    @Test
    void theTableSaysWhatCaptureAdds() {
        List<List<String>> rows = CaptureCommand.rows(List.of(found("H2", "NOTES", 25), found("H2", "none", 20),
                found("HSQLDB", "none", 10)));
        assertEquals(List.of("+25.0 %", "+0.0 %", "+0.0 %"), rows.stream().skip(1).map(List::getLast).toList());
    }

    private static Found found(String engine, String capture, double median) {
        return new Found(Map.of("engine", engine, "capture", capture), median, median, median, median, 1);
    }
}
