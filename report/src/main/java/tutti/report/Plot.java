package tutti.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Draws one plot over time as SVG that can stand inside HTML. Colours are CSS classes {@code c0} to {@code c7}, so that the
 * page decides about light and dark. Missing values are gaps, never zeroes.
 *
 * @param title what is shown
 * @param unit of the vertical axis
 * @param scale of the vertical axis
 * @param stacked whether lines are areas on top of one another
 * @param seconds length of the horizontal axis, positive
 * @param lines what to draw
 * @param events marked with vertical lines
 */
public record Plot(String title, String unit, Scale scale, boolean stacked, double seconds, List<Line> lines,
        List<RunReport.Event> events) {
    private static final int WIDTH = 860;
    private static final int HEIGHT = 270;
    private static final int LEFT = 64;
    private static final int RIGHT = 14;
    private static final int TOP = 42;
    private static final int BOTTOM = 38;
    private static final int TICKS_WANTED = 5;
    private static final int CHARACTER_WIDTH = 6;
    /** Room above the plot for title and legend, in a file of its own. */
    private static final int HEAD = 44;
    private static final String SVG_STYLE = """
            text{font:11.5px system-ui,sans-serif;fill:#5d6670}.title{font-size:14px;font-weight:600;fill:#1b1f24}
            .paper{fill:#fff}.grid{stroke:#dde1e6;fill:none}.end{text-anchor:end}.mid{text-anchor:middle}
            .line{fill:none;stroke:var(--c);stroke-width:1.9;stroke-linejoin:round}.dashed{stroke-dasharray:4 4}
            .area{fill:var(--c);fill-opacity:.82}.event{stroke:#9a5b00;stroke-dasharray:2 3;fill:none}
            .c0{--c:#3566c8}.c1{--c:#d1661f}.c2{--c:#1f8a70}.c3{--c:#a0459b}.c4{--c:#b58a00}.c5{--c:#c43c5c}
            .c6{--c:#4f8fb5}.c7{--c:#6b7280}
            """;

    /** Of the vertical axis. */
    public enum Scale {
        /** From 0. */
        LINEAR,
        /** By powers of ten; for values over several orders of magnitude. */
        LOGARITHMIC
    }

    /**
     * One line.
     *
     * @param name in the legend
     * @param colour 0 to 7
     * @param dashed whether it is drawn so
     * @param at seconds, ascending
     * @param values as many; NaN leaves a gap
     */
    public record Line(String name, int colour, boolean dashed, double[] at, double[] values) {}

    /** The plot and its legend. */
    String html() {
        StringBuilder html = new StringBuilder("<figure><figcaption>").append(escape(title)).append("</figcaption>");
        html.append("<div class=\"legend\">");
        for (Line line : lines) {
            html.append("<span><svg viewBox=\"0 0 22 8\" width=\"22\" height=\"8\" aria-hidden=\"true\">")
                    .append(stacked
                            ? "<rect width=\"22\" height=\"8\" rx=\"2\" class=\"area c" + line.colour + "\"/>"
                            : "<path d=\"M0 4H22\" class=\"line" + (line.dashed ? " dashed" : "") + " c" + line.colour
                                    + "\"/>")
                    .append("</svg>").append(escape(line.name)).append("</span>");
        }
        html.append("</div><svg viewBox=\"0 0 ").append(WIDTH).append(' ').append(HEIGHT)
                .append("\" role=\"img\" aria-label=\"").append(escape(title)).append("\">");
        inside(html);
        return html.append("</svg></figure>\n").toString();
    }

    /** The plot as a file of its own, with title, legend and colours, on white. */
    public String svg() {
        StringBuilder svg = new StringBuilder("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 ");
        append(svg, "%d %d %d\" role=\"img\" aria-label=\"%s\"><style>%s</style>", -HEAD, WIDTH, HEIGHT + HEAD,
                escape(title), SVG_STYLE);
        append(svg, "<rect class=\"paper\" x=\"0\" y=\"%d\" width=\"%d\" height=\"%d\"/>", -HEAD, WIDTH,
                HEIGHT + HEAD);
        append(svg, "<text class=\"title\" x=\"4\" y=\"%d\">%s</text>", 18 - HEAD, escape(title));
        int x = 4;
        for (Line line : lines) {
            append(svg, "<path class=\"line%s c%d\" d=\"M%d %dh22\"/>", line.dashed ? " dashed" : "", line.colour, x,
                    36 - HEAD);
            append(svg, "<text class=\"unit\" x=\"%d\" y=\"%d\">%s</text>", x + 28, 40 - HEAD, escape(line.name));
            x += 28 + (line.name.length() + 3) * CHARACTER_WIDTH;
        }
        inside(svg);
        return svg.append("</svg>\n").toString();
    }

    private void inside(StringBuilder html) {
        List<double[]> tops = tops();
        double max = max(tops);
        double min = scale == Scale.LOGARITHMIC ? logMin(tops, max) : 0;
        List<Double> ticks = scale == Scale.LOGARITHMIC ? logTicks(min, max) : linearTicks(max);
        double top = ticks.getLast();
        axes(html, ticks, min, top);
        for (int i = lines.size() - 1; i >= 0; i--) {
            double[] below = stacked && i > 0 ? tops.get(i - 1) : new double[tops.get(i).length];
            draw(html, lines.get(i), tops.get(i), below, min, top);
        }
        drawEvents(html);
    }

    /** The values to draw: sums from below if stacked. */
    private List<double[]> tops() {
        List<double[]> tops = new ArrayList<>();
        for (int i = 0; i < lines.size(); i++) {
            double[] values = lines.get(i).values.clone();
            for (int j = 0; stacked && j < values.length; j++) {
                values[j] = (Double.isNaN(values[j]) ? 0 : values[j]) + (i > 0 ? tops.get(i - 1)[j] : 0);
            }
            tops.add(values);
        }
        return tops;
    }

    private static double max(List<double[]> all) {
        double max = 0;
        for (double[] values : all) {
            for (double value : values) {
                max = Double.isNaN(value) ? max : Math.max(max, value);
            }
        }
        return max;
    }

    private static double logMin(List<double[]> all, double max) {
        double min = Math.max(max, 1);
        for (double[] values : all) {
            for (double value : values) {
                min = value > 0 ? Math.min(min, value) : min;
            }
        }
        return Math.pow(10, Math.floor(Math.log10(min)));
    }

    private static List<Double> logTicks(double min, double max) {
        List<Double> ticks = new ArrayList<>();
        for (double tick = min; ticks.size() < 2 || ticks.getLast() < max; tick *= 10) {
            ticks.add(tick);
        }
        return ticks;
    }

    private static List<Double> linearTicks(double max) {
        double step = niceStep(Math.max(max, 1e-9) / TICKS_WANTED);
        if (max == 0) {
            step = 1;
        }
        List<Double> ticks = new ArrayList<>();
        for (int i = 0; ticks.size() < 2 || ticks.getLast() < max; i++) {
            ticks.add(i * step);
        }
        return ticks;
    }

    /** The smallest of 1, 2, 5 times a power of ten that is at least {@code wanted}. */
    static double niceStep(double wanted) {
        double power = Math.pow(10, Math.floor(Math.log10(wanted)));
        for (double factor : new double[]{1, 2, 5}) {
            if (factor * power >= wanted * 0.999) {
                return factor * power;
            }
        }
        return 10 * power;
    }

    private void axes(StringBuilder html, List<Double> ticks, double min, double top) {
        for (double tick : ticks) {
            double y = y(tick, min, top);
            append(html, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>", LEFT, y, WIDTH - RIGHT);
            append(html, "<text class=\"tick end\" x=\"%d\" y=\"%.1f\">%s</text>", LEFT - 8, y + 4, number(tick));
        }
        append(html, "<text class=\"unit\" x=\"%d\" y=\"%d\">%s</text>", 4, 14, escape(unit));
        double step = niceStep(seconds / 8);
        for (int i = 0; i * step <= seconds * 1.0001; i++) {
            double x = x(i * step);
            append(html, "<text class=\"tick mid\" x=\"%.1f\" y=\"%d\">%s</text>", x, HEIGHT - BOTTOM + 18,
                    number(i * step));
        }
        append(html, "<text class=\"unit end\" x=\"%d\" y=\"%d\">seconds since the start</text>", WIDTH - RIGHT,
                HEIGHT - 4);
    }

    private void draw(StringBuilder html, Line line, double[] tops, double[] below, double min, double top) {
        StringBuilder path = new StringBuilder();
        if (stacked) {
            for (int i = 0; i < tops.length; i++) {
                append(path, "%s%.1f %.1f", i == 0 ? "M" : "L", x(line.at[i]), y(tops[i], min, top));
            }
            for (int i = tops.length - 1; i >= 0; i--) {
                append(path, "L%.1f %.1f", x(line.at[i]), y(below[i], min, top));
            }
            append(html, "<path class=\"area c%d\" d=\"%s\"><title>%s</title></path>", line.colour,
                    tops.length == 0 ? "" : path + "Z", escape(line.name));
            return;
        }
        boolean down = false;
        for (int i = 0; i < tops.length; i++) {
            if (Double.isNaN(tops[i])) {
                down = false;
                continue;
            }
            // A value between two gaps would be invisible as a line: it becomes a dot.
            boolean alone = !down && (i + 1 == tops.length || Double.isNaN(tops[i + 1]));
            append(path, "%s%.1f %.1f%s", down ? "L" : "M", x(line.at[i]), y(tops[i], min, top), alone ? "h.1" : "");
            down = true;
        }
        append(html, "<path class=\"line%s c%d\" d=\"%s\"><title>%s</title></path>", line.dashed ? " dashed" : "",
                line.colour, path, escape(line.name));
    }

    private void drawEvents(StringBuilder html) {
        double[] freeFrom = {0, 0};
        for (RunReport.Event event : events) {
            double x = x(Math.min(event.atSeconds(), seconds));
            int labelWidth = event.label().length() * CHARACTER_WIDTH;
            boolean leftOfLine = x + labelWidth > WIDTH - RIGHT;
            double start = leftOfLine ? x - labelWidth : x;
            int row = start >= freeFrom[0] ? 0 : 1;
            freeFrom[row] = start + labelWidth + 8;
            String kind = event.kind().name().toLowerCase(Locale.ROOT).replace('_', '-');
            int labelY = TOP - 22 + row * 13;
            append(html, "<path class=\"event %s\" d=\"M%.1f %dV%d\"/>", kind, x, labelY + 3, HEIGHT - BOTTOM);
            append(html, "<text class=\"event-label %s%s\" x=\"%.1f\" y=\"%d\">%s</text>", kind,
                    leftOfLine ? " end" : "", x + (leftOfLine ? -3 : 3), labelY, escape(event.label()));
        }
    }

    private double x(double at) {
        return LEFT + (WIDTH - LEFT - RIGHT) * Math.clamp(at / seconds, 0, 1);
    }

    private double y(double value, double min, double top) {
        double share = scale == Scale.LOGARITHMIC
                ? Math.log10(Math.max(value, min) / min) / Math.log10(top / min)
                : value / top;
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * Math.clamp(share, 0, 1);
    }

    @SuppressWarnings("AnnotateFormatMethod") // The annotation would be a library more for one method.
    private static void append(StringBuilder html, String format, Object... values) {
        html.append(String.format(Locale.ROOT, format, values));
    }

    /** A number as a person reads it: thousands grouped, no needless decimals, very small ones by their power of ten. */
    static String number(double value) {
        if (value == Math.rint(value)) {
            return String.format(Locale.ROOT, "%,.0f", value);
        }
        if (Math.abs(value) < 0.001) {
            return String.format(Locale.ROOT, "%.1e", value).replace(".0e", "e");
        }
        int decimals = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 0.1 ? 2 : 3;
        return String.format(Locale.ROOT, "%,." + decimals + "f", value);
    }

    static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\"", "&quot;");
    }
}
