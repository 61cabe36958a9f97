package tutti.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class ChartTest {
    private static Chart chart(Chart.Curve... curves) {
        return new Chart("Throughput", "clients", "tpm", false, false, true, List.of(curves));
    }

    @Test
    void halfWidthsAreAColumnOfTheirOwn() {
        Chart.Curve with = new Chart.Curve("si", false, new double[]{10, 20}, new double[]{100, 200.5},
                new double[]{1, 2.5});
        Chart.Curve without = new Chart.Curve("nodo", false, new double[]{20}, new double[]{50});
        assertEquals("clients,si,si ±,nodo\n10,100,1,\n20,200.500,2.50000,50\n", chart(with, without).csv());
    }

    @Test
    void intervalsAreDrawnAndFitIntoTheChart() {
        double[] at = {10};
        double[] value = {100};
        String plain = chart(new Chart.Curve("si", false, at, value)).svg();
        String bars = chart(new Chart.Curve("si", false, at, value, new double[]{100})).svg();
        assertEquals(plain.split("class=\"line", -1).length + 1, bars.split("class=\"line", -1).length, "one bar");
        assertTrue(bars.contains(">200<") && !plain.contains(">200<"), "the axis reaches the interval's end");
    }
}
