package tutti.cli.report;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Draws curves over any quantity as SVG: a file of its own, or inside HTML. Each value is a dot on its curve. Values that are
 * not numbers are left out.
 *
 * @param title what is shown
 * @param across name and unit of the horizontal axis
 * @param up name and unit of the vertical axis
 * @param logAcross whether the horizontal axis goes by powers of ten, instead of from 0
 * @param logUp whether the vertical axis does
 * @param dots whether each value has a dot
 * @param curves what to draw
 */
public record Chart(String title, String across, String up, boolean logAcross, boolean logUp, boolean dots,
        List<Curve> curves) {
    private static final int WIDTH = 560;
    private static final int HEIGHT = 340;
    private static final int LEFT = 70;
    private static final int RIGHT = 18;
    private static final int TOP = 74;
    private static final int BOTTOM = 46;
    private static final int COLOURS = 8;
    private static final int CHARACTER_WIDTH = 7;
    private static final String STYLE = """
            text{font:12px system-ui,sans-serif;fill:#4a5159}.title{font-size:14px;font-weight:600;fill:#1b1f24}
            .paper{fill:#fff}.grid{stroke:#dde1e6;fill:none}.end{text-anchor:end}.mid{text-anchor:middle}
            .line{fill:none;stroke:var(--c);stroke-width:1.9;stroke-linejoin:round}.dashed{stroke-dasharray:5 4}
            .dot{fill:var(--c)}
            .c0{--c:#3566c8}.c1{--c:#d1661f}.c2{--c:#1f8a70}.c3{--c:#a0459b}.c4{--c:#b58a00}.c5{--c:#c43c5c}
            .c6{--c:#4f8fb5}.c7{--c:#6b7280}
            """;

    /**
     * One curve.
     *
     * @param name in the legend
     * @param dashed whether it is drawn so
     * @param at horizontal values, ascending
     * @param values as many vertical ones
     */
    public record Curve(String name, boolean dashed, double[] at, double[] values) {}

    private record Axis(boolean log, double least, double most, List<Double> ticks) {
        double share(double value) {
            return log
                    ? Math.log10(Math.max(value, least) / least) / Math.log10(most / least)
                    : (value - least) / (most - least);
        }
    }

    /** The chart as a file of its own, on white. */
    public String svg() {
        StringBuilder svg = new StringBuilder();
        append(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">",
                WIDTH, HEIGHT, Plot.escape(title));
        append(svg, "<style>%s</style><rect class=\"paper\" width=\"%d\" height=\"%d\"/>", STYLE, WIDTH, HEIGHT);
        append(svg, "<text class=\"title\" x=\"8\" y=\"20\">%s</text>", Plot.escape(title));
        legend(svg);
        inside(svg);
        return svg.append("</svg>\n").toString();
    }

    /** The chart inside HTML, whose style decides about colours. */
    public String html() {
        StringBuilder html = new StringBuilder("<figure><figcaption>");
        html.append(Plot.escape(title)).append("</figcaption>");
        append(html, "<svg viewBox=\"0 24 %d %d\" role=\"img\" aria-label=\"%s\">", WIDTH, HEIGHT - 24,
                Plot.escape(title));
        legend(html);
        inside(html);
        return html.append("</svg></figure>\n").toString();
    }

    /** The numbers: one line for each horizontal value, one column for each curve. */
    public String csv() {
        StringBuilder csv = new StringBuilder(quoted(across));
        curves.forEach(curve -> csv.append(',').append(quoted(curve.name)));
        csv.append('\n');
        double[] all = curves.stream().flatMapToDouble(curve -> Arrays.stream(curve.at)).sorted().distinct()
                .toArray();
        for (double at : all) {
            csv.append(plain(at));
            for (Curve curve : curves) {
                csv.append(',');
                for (int i = 0; i < curve.at.length; i++) {
                    if (curve.at[i] == at && !Double.isNaN(curve.values[i])) {
                        csv.append(plain(curve.values[i]));
                        break;
                    }
                }
            }
            csv.append('\n');
        }
        return csv.toString();
    }

    private static String quoted(String text) {
        return text.contains(",") || text.contains("\"") ? "\"" + text.replace("\"", "\"\"") + "\"" : text;
    }

    private static String plain(double value) {
        return value == Math.rint(value) && Math.abs(value) < 1e15
                ? Long.toString((long) value)
                : String.format(Locale.ROOT, "%.6g", value);
    }

    private void legend(StringBuilder svg) {
        int x = 8;
        int y = 40;
        for (int i = 0; i < curves.size(); i++) {
            Curve curve = curves.get(i);
            int width = 34 + curve.name.length() * CHARACTER_WIDTH;
            if (x + width > WIDTH && x > 8) {
                x = 8;
                y += 16;
            }
            append(svg, "<path class=\"line%s c%d\" d=\"M%d %dh20\"/>", curve.dashed ? " dashed" : "", i % COLOURS, x,
                    y - 4);
            append(svg, "<text class=\"unit\" x=\"%d\" y=\"%d\">%s</text>", x + 25, y, Plot.escape(curve.name));
            x += width + 8;
        }
    }

    private void inside(StringBuilder svg) {
        Axis horizontal = axis(logAcross, curves.stream().map(Curve::at).toList());
        Axis vertical = axis(logUp, curves.stream().map(Curve::values).toList());
        for (double tick : vertical.ticks) {
            append(svg, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>", LEFT, y(vertical, tick), WIDTH - RIGHT);
            append(svg, "<text class=\"tick end\" x=\"%d\" y=\"%.1f\">%s</text>", LEFT - 7, y(vertical, tick) + 4,
                    Plot.number(tick));
        }
        for (double tick : horizontal.ticks) {
            append(svg, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>", x(horizontal, tick), HEIGHT - BOTTOM,
                    HEIGHT - BOTTOM + 4);
            append(svg, "<text class=\"tick mid\" x=\"%.1f\" y=\"%d\">%s</text>", x(horizontal, tick),
                    HEIGHT - BOTTOM + 18, Plot.number(tick));
        }
        append(svg, "<text class=\"unit mid\" x=\"%d\" y=\"%d\">%s</text>", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8,
                Plot.escape(across));
        append(svg, "<text class=\"unit mid\" transform=\"rotate(-90)\" x=\"%d\" y=\"14\">%s</text>",
                -(TOP + HEIGHT - BOTTOM) / 2, Plot.escape(up));
        for (int i = 0; i < curves.size(); i++) {
            draw(svg, curves.get(i), i % COLOURS, horizontal, vertical);
        }
    }

    private void draw(StringBuilder svg, Curve curve, int colour, Axis horizontal, Axis vertical) {
        StringBuilder path = new StringBuilder();
        StringBuilder marks = new StringBuilder();
        for (int i = 0; i < curve.at.length; i++) {
            if (Double.isNaN(curve.values[i])) {
                continue;
            }
            double x = x(horizontal, curve.at[i]);
            double y = y(vertical, curve.values[i]);
            append(path, "%s%.1f %.1f", path.isEmpty() ? "M" : "L", x, y);
            if (dots) {
                append(marks, "<circle class=\"dot c%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", colour, x, y);
            }
        }
        append(svg, "<path class=\"line%s c%d\" d=\"%s\"><title>%s</title></path>%s", curve.dashed ? " dashed" : "",
                colour, path, Plot.escape(curve.name), marks);
    }

    private static double x(Axis axis, double value) {
        return LEFT + (WIDTH - LEFT - RIGHT) * Math.clamp(axis.share(value), 0, 1);
    }

    private static double y(Axis axis, double value) {
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * Math.clamp(axis.share(value), 0, 1);
    }

    private static Axis axis(boolean log, List<double[]> all) {
        double most = 0;
        double least = Double.MAX_VALUE;
        for (double[] values : all) {
            for (double value : values) {
                if (!Double.isNaN(value)) {
                    most = Math.max(most, value);
                    least = value > 0 ? Math.min(least, value) : least;
                }
            }
        }
        most = most > 0 ? most : 1;
        List<Double> ticks = new ArrayList<>();
        if (log) {
            double tick = Math.pow(10, Math.floor(Math.log10(Math.min(least, most))));
            while (ticks.size() < 2 || ticks.getLast() < most) {
                ticks.add(tick);
                tick *= 10;
            }
        } else {
            double step = Plot.niceStep(most / 5);
            for (int i = 0; ticks.size() < 2 || ticks.getLast() < most * 0.9999; i++) {
                ticks.add(i * step);
            }
        }
        return new Axis(log, ticks.getFirst(), ticks.getLast(), ticks);
    }

    @SuppressWarnings("AnnotateFormatMethod") // The annotation would be a library more for one method.
    private static void append(StringBuilder to, String format, Object... values) {
        to.append(String.format(Locale.ROOT, format, values));
    }
}
