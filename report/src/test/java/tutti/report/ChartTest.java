package tutti.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Arrays;
import java.util.regex.Pattern;
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

    @Test
    void aMarkCrossesItsCurve() {
        double[] at = {10, 20};
        double[] value = {100, 200};
        String plain = chart(new Chart.Curve("si", false, at, value)).svg();
        String marked = chart(new Chart.Curve("si", false, at, value, new double[0], 20)).svg();
        assertEquals(plain.split("class=\"line", -1).length + 1, marked.split("class=\"line", -1).length, "one stroke");
    }

    @Test
    void aLongLegendStandsAboveTheAxes() {
        Chart.Curve[] many = new Chart.Curve[12];
        Arrays.setAll(many, i -> new Chart.Curve("a protocol of some name " + i, false, new double[]{1},
                new double[]{100}));
        String svg = chart(many).svg();
        double lowest = Pattern.compile("y=\"([0-9.]+)\"[^>]*>a protocol").matcher(svg).results()
                .mapToDouble(found -> Double.parseDouble(found.group(1))).max().orElseThrow();
        double top = Pattern.compile("y=\"([0-9.]+)\"[^>]*>100<").matcher(svg).results()
                .mapToDouble(found -> Double.parseDouble(found.group(1))).min().orElseThrow();
        assertTrue(lowest < top, () -> "the legend reaches " + lowest + ", the axis begins at " + top);
    }
}
