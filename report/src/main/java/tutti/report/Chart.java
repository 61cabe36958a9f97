package tutti.report;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;

/**
 * Draws curves over any quantity: as SVG in a file of its own or inside HTML, and as PNG. Each value is a dot on its curve. Values that are
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
    private static final int LEFT = 78;
    private static final int RIGHT = 24;
    /** Of the axes, below a legend of two lines. */
    private static final int TOP = 74;
    private static final int LEGEND = 40;
    private static final int LEGEND_LINE = 16;
    private static final int BOTTOM = 46;
    private static final int COLOURS = 8;
    private static final int CHARACTER_WIDTH = 7;
    /** Half of a mark's length. */
    private static final int STROKE = 9;
    /** Across at most so many powers of ten; what is less stands at the edge. */
    private static final double DECADES = 5;
    /** Height of the title, which HTML has as a caption. */
    private static final int CAPTION = 24;

    /**
     * One curve.
     *
     * @param name in the legend
     * @param dashed whether it is drawn so
     * @param at horizontal values, ascending
     * @param values as many vertical ones
     * @param halfWidths of the values' confidence intervals, drawn as bars; as many, or none
     * @param mark a horizontal value at which the curve is crossed by a stroke, if it has one there
     */
    public record Curve(String name, boolean dashed, double[] at, double[] values, double[] halfWidths,
            double mark) {
        /** Values with intervals. */
        public Curve(String name, boolean dashed, double[] at, double[] values, double[] halfWidths) {
            this(name, dashed, at, values, halfWidths, Double.NaN);
        }

        /** Values without intervals. */
        public Curve(String name, boolean dashed, double[] at, double[] values) {
            this(name, dashed, at, values, new double[0]);
        }

        /** The values, or the upper ends of their intervals. */
        private double[] upTo() {
            return hasIntervals()
                    ? IntStream.range(0, values.length).mapToDouble(i -> values[i] + halfWidths[i]).toArray()
                    : values;
        }

        private boolean hasIntervals() {
            return halfWidths.length > 0;
        }
    }

    /** The chart as a file of its own, on white. */
    public String svg() {
        SvgCanvas canvas = new SvgCanvas(true);
        canvas.open(WIDTH, HEIGHT, 0, title);
        canvas.background(WIDTH, HEIGHT, 0);
        canvas.title(8, 20, title);
        legend(canvas);
        inside(canvas);
        return canvas.close() + "\n";
    }

    /** The chart inside HTML, whose style decides about colours. */
    public String html() {
        SvgCanvas canvas = new SvgCanvas(false);
        canvas.open(WIDTH, HEIGHT, CAPTION, title);
        legend(canvas);
        inside(canvas);
        return "<figure><figcaption>" + SvgCanvas.escape(title) + "</figcaption>" + canvas.close() + "</figure>\n";
    }

    /**
     * The chart as a PNG file, on white, two pixels for each unit of the SVG.
     *
     * @throws IllegalStateException if this Java runtime cannot draw: it has no {@code java.desktop}, or finds no font
     */
    public byte[] png() {
        ImageCanvas canvas = new ImageCanvas(WIDTH, HEIGHT);
        canvas.title(8, 20, title);
        legend(canvas);
        inside(canvas);
        return canvas.png();
    }

    /** The numbers: one line for each horizontal value, one column for each curve, and one for its half widths if it has them. */
    public String csv() {
        StringBuilder csv = new StringBuilder(quoted(across));
        curves.forEach(curve -> csv.append(',').append(quoted(curve.name))
                .append(curve.hasIntervals() ? "," + quoted(curve.name + " ±") : ""));
        csv.append('\n');
        double[] all = curves.stream().flatMapToDouble(curve -> Arrays.stream(curve.at)).sorted().distinct()
                .toArray();
        for (double at : all) {
            csv.append(plain(at));
            for (Curve curve : curves) {
                csv.append(cell(curve, curve.values, at));
                if (curve.hasIntervals()) {
                    csv.append(cell(curve, curve.halfWidths, at));
                }
            }
            csv.append('\n');
        }
        return csv.toString();
    }

    private static String cell(Curve curve, double[] column, double at) {
        for (int i = 0; i < curve.at.length; i++) {
            if (curve.at[i] == at && !Double.isNaN(column[i])) {
                return "," + plain(column[i]);
            }
        }
        return ",";
    }

    private static String quoted(String text) {
        return text.contains(",") || text.contains("\"") ? "\"" + text.replace("\"", "\"\"") + "\"" : text;
    }

    private static String plain(double value) {
        return value == Math.rint(value) && Math.abs(value) < 1e15
                ? Long.toString((long) value)
                : String.format(Locale.ROOT, "%.6g", value);
    }

    /** Where the axes begin: below the legend. */
    private int top() {
        int x = 8;
        int lines = 1;
        for (Curve curve : curves) {
            int width = legendWidth(curve);
            if (x + width > WIDTH && x > 8) {
                x = 8;
                lines++;
            }
            x += width + 8;
        }
        return TOP + Math.max(0, lines - 2) * LEGEND_LINE;
    }

    private static int legendWidth(Curve curve) {
        return 34 + curve.name.length() * CHARACTER_WIDTH;
    }

    private void legend(Canvas canvas) {
        int x = 8;
        int y = LEGEND;
        for (int i = 0; i < curves.size(); i++) {
            Curve curve = curves.get(i);
            int width = legendWidth(curve);
            if (x + width > WIDTH && x > 8) {
                x = 8;
                y += LEGEND_LINE;
            }
            canvas.curve(i % COLOURS, curve.dashed, curve.name, new double[]{x, x + 20}, new double[]{y - 4, y - 4});
            canvas.text(Canvas.Align.START, x + 25, y, curve.name);
            x += width + 8;
        }
    }

    private void inside(Canvas canvas) {
        Axis horizontal = Axis.of(logAcross, DECADES, curves.stream().map(Curve::at).toList());
        Axis vertical = Axis.of(logUp, Double.MAX_EXPONENT, curves.stream().map(Curve::upTo).toList());
        for (double tick : vertical.ticks()) {
            double y = y(vertical, tick);
            canvas.grid(LEFT, y, WIDTH - RIGHT, y);
            canvas.text(Canvas.Align.END, LEFT - 7, y + 4, Axis.number(tick));
        }
        for (double tick : horizontal.ticks()) {
            double x = x(horizontal, tick);
            canvas.grid(x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 4);
            canvas.text(Canvas.Align.MIDDLE, x, HEIGHT - BOTTOM + 18, Axis.number(tick));
        }
        canvas.text(Canvas.Align.MIDDLE, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 8, across);
        canvas.upwards(14, (top() + HEIGHT - BOTTOM) / 2.0, up);
        for (int i = 0; i < curves.size(); i++) {
            draw(canvas, curves.get(i), i % COLOURS, horizontal, vertical);
        }
    }

    private void draw(Canvas canvas, Curve curve, int colour, Axis horizontal, Axis vertical) {
        int[] there = IntStream.range(0, curve.at.length).filter(i -> !Double.isNaN(curve.values[i])).toArray();
        double[] x = Arrays.stream(there).mapToDouble(i -> x(horizontal, curve.at[i])).toArray();
        double[] y = Arrays.stream(there).mapToDouble(i -> y(vertical, curve.values[i])).toArray();
        canvas.curve(colour, curve.dashed, curve.name, x, y);
        if (curve.hasIntervals()) {
            for (int i = 0; i < there.length; i++) {
                double value = curve.values[there[i]];
                double halfWidth = curve.halfWidths[there[i]];
                canvas.curve(colour, false, curve.name, new double[]{x[i], x[i]},
                        new double[]{y(vertical, value - halfWidth), y(vertical, value + halfWidth)});
            }
        }
        for (int i = 0; i < there.length; i++) {
            if (curve.at[there[i]] == curve.mark) {
                canvas.curve(colour, false, curve.name, new double[]{x[i], x[i]},
                        new double[]{y[i] - STROKE, y[i] + STROKE});
            }
        }
        if (dots) {
            for (int i = 0; i < x.length; i++) {
                canvas.dot(colour, x[i], y[i]);
            }
        }
    }

    private static double x(Axis axis, double value) {
        return LEFT + (WIDTH - LEFT - RIGHT) * axis.share(value);
    }

    private double y(Axis axis, double value) {
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - top()) * axis.share(value);
    }
}
