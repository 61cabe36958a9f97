package tutti.report;

import java.util.ArrayList;
import java.util.Arrays;
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
    private static final int CHARACTER_WIDTH = 6;
    /** Room above the plot for title and legend, in a file of its own. */
    private static final int HEAD = 44;
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
        StringBuilder html = new StringBuilder("<figure><figcaption>").append(SvgCanvas.escape(title))
                .append("</figcaption>");
        html.append("<div class=\"legend\">");
        for (Line line : lines) {
            html.append("<span><svg viewBox=\"0 0 22 8\" width=\"22\" height=\"8\" aria-hidden=\"true\">")
                    .append(stacked
                            ? "<rect width=\"22\" height=\"8\" rx=\"2\" class=\"area c" + line.colour + "\"/>"
                            : "<path d=\"M0 4H22\" class=\"line" + (line.dashed ? " dashed" : "") + " c" + line.colour
                                    + "\"/>")
                    .append("</svg>").append(SvgCanvas.escape(line.name)).append("</span>");
        }
        SvgCanvas canvas = new SvgCanvas(false);
        canvas.open(WIDTH, HEIGHT, 0, title);
        inside(canvas);
        return html.append("</div>").append(canvas.close()).append("</figure>\n").toString();
    }

    /** The plot as a file of its own, with title, legend and colours, on white. */
    public String svg() {
        SvgCanvas canvas = new SvgCanvas(true);
        canvas.open(WIDTH, HEIGHT, -HEAD, title);
        canvas.background(WIDTH, HEIGHT, -HEAD);
        canvas.title(4, 18 - HEAD, title);
        int x = 4;
        for (Line line : lines) {
            double y = 36 - HEAD;
            canvas.curve(line.colour, line.dashed, line.name, new double[]{x, x + 22}, new double[]{y, y});
            canvas.text(Canvas.Align.START, x + 28, y + 4, line.name);
            x += 28 + (line.name.length() + 3) * CHARACTER_WIDTH;
        }
        inside(canvas);
        return canvas.close() + "\n";
    }

    private void inside(SvgCanvas canvas) {
        List<double[]> tops = tops();
        Axis axis = Axis.of(scale == Scale.LOGARITHMIC, Double.MAX_EXPONENT, tops);
        axes(canvas, axis);
        for (int i = lines.size() - 1; i >= 0; i--) {
            Line line = lines.get(i);
            double[] x = Arrays.stream(line.at).map(this::x).toArray();
            double[] y = heights(axis, tops.get(i));
            if (stacked) {
                double[] below = i > 0 ? tops.get(i - 1) : new double[y.length];
                canvas.area(line.colour, line.name, x, y, heights(axis, below));
            } else {
                canvas.curve(line.colour, line.dashed, line.name, x, y);
            }
        }
        drawEvents(canvas);
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

    private void axes(Canvas canvas, Axis axis) {
        for (double tick : axis.ticks()) {
            double y = y(axis, tick);
            canvas.grid(LEFT, y, WIDTH - RIGHT, y);
            canvas.text(Canvas.Align.END, LEFT - 8, y + 4, Axis.number(tick));
        }
        canvas.text(Canvas.Align.START, 4, 14, unit);
        double step = Axis.niceStep(seconds / 8);
        for (int i = 0; i * step <= seconds * 1.0001; i++) {
            canvas.text(Canvas.Align.MIDDLE, x(i * step), HEIGHT - BOTTOM + 18, Axis.number(i * step));
        }
        canvas.text(Canvas.Align.END, WIDTH - RIGHT, HEIGHT - 4, "seconds since the start");
    }

    private void drawEvents(SvgCanvas canvas) {
        double[] freeFrom = {0, 0};
        for (RunReport.Event event : events) {
            double x = x(Math.min(event.atSeconds(), seconds));
            int labelWidth = event.label().length() * CHARACTER_WIDTH;
            boolean leftOfLine = x + labelWidth > WIDTH - RIGHT;
            double start = leftOfLine ? x - labelWidth : x;
            int row = start >= freeFrom[0] ? 0 : 1;
            freeFrom[row] = start + labelWidth + 8;
            canvas.event(event.kind().name().toLowerCase(Locale.ROOT).replace('_', '-'), x, TOP - 19 + row * 13,
                    HEIGHT - BOTTOM, leftOfLine ? Canvas.Align.END : Canvas.Align.START, x + (leftOfLine ? -3 : 3),
                    event.label());
        }
    }

    private double x(double at) {
        return LEFT + (WIDTH - LEFT - RIGHT) * Math.clamp(at / seconds, 0, 1);
    }

    private static double[] heights(Axis axis, double[] values) {
        return Arrays.stream(values).map(value -> y(axis, value)).toArray();
    }

    private static double y(Axis axis, double value) {
        return Double.isNaN(value) ? value : HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * axis.share(value);
    }
}
