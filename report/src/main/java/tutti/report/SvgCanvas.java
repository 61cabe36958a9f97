package tutti.report;

import java.util.Locale;

/** Draws as SVG. What stands inside HTML has no colours of its own: they are CSS classes {@code c0} to {@code c7}. */
final class SvgCanvas implements Canvas {
    private static final String STYLE = """
            text{font:12px system-ui,sans-serif;fill:#4a5159}.title{font-size:14px;font-weight:600;fill:#1b1f24}
            .paper{fill:#fff}.grid{stroke:#dde1e6;fill:none}.end{text-anchor:end}.mid{text-anchor:middle}
            .line{fill:none;stroke:var(--c);stroke-width:1.9;stroke-linejoin:round}.dashed{stroke-dasharray:5 4}
            .dot{fill:var(--c)}.area{fill:var(--c);fill-opacity:.82}.event{stroke:#9a5b00;stroke-dasharray:2 3;fill:none}
            .c0{--c:#3566c8}.c1{--c:#d1661f}.c2{--c:#1f8a70}.c3{--c:#a0459b}.c4{--c:#b58a00}.c5{--c:#c43c5c}
            .c6{--c:#4f8fb5}.c7{--c:#6b7280}
            """;

    private final StringBuilder svg = new StringBuilder();
    private final boolean alone;

    /** @param alone whether it is to be a file of its own, not a part of HTML */
    SvgCanvas(boolean alone) {
        this.alone = alone;
    }

    /**
     * Begins.
     *
     * @param above how much of the upper edge is left out; negative for room above it
     */
    void open(int width, int height, int above, String label) {
        append("<svg%s viewBox=\"0 %d %d %d\" role=\"img\" aria-label=\"%s\">",
                alone ? " xmlns=\"http://www.w3.org/2000/svg\"" : "", above, width, height - above, escape(label));
    }

    /** Colours, on white. */
    void background(int width, int height, int above) {
        append("<style>%s</style><rect class=\"paper\" x=\"0\" y=\"%d\" width=\"%d\" height=\"%d\"/>", STYLE, above,
                width,
                height - above);
    }

    /** All of it. */
    String close() {
        return svg.append("</svg>").toString();
    }

    @Override
    public void title(double x, double y, String text) {
        append("<text class=\"title\" x=\"%.0f\" y=\"%.0f\">%s</text>", x, y, escape(text));
    }

    @Override
    public void text(Align align, double x, double y, String text) {
        append("<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>", align.style(), x, y, escape(text));
    }

    @Override
    public void upwards(double x, double y, String text) {
        append("<text class=\"unit mid\" transform=\"rotate(-90)\" x=\"%.1f\" y=\"%.1f\">%s</text>", -y, x,
                escape(text));
    }

    @Override
    public void grid(double fromX, double fromY, double toX, double toY) {
        append("<path class=\"grid\" d=\"M%.1f %.1fL%.1f %.1f\"/>", fromX, fromY, toX, toY);
    }

    @Override
    public void curve(int colour, boolean dashed, String name, double[] x, double[] y) {
        append("<path class=\"line%s c%d\" d=\"", dashed ? " dashed" : "", colour);
        boolean down = false;
        for (int i = 0; i < x.length; i++) {
            if (Double.isNaN(y[i])) {
                down = false;
                continue;
            }
            boolean alone = !down && (i + 1 == x.length || Double.isNaN(y[i + 1]));
            append("%s%.1f %.1f%s", down ? "L" : "M", x[i], y[i], alone ? "h.1" : "");
            down = true;
        }
        append("\"><title>%s</title></path>", escape(name));
    }

    @Override
    public void dot(int colour, double x, double y) {
        append("<circle class=\"dot c%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", colour, x, y);
    }

    /** What lies between two lines, one above the other. */
    void area(int colour, String name, double[] x, double[] upper, double[] lower) {
        append("<path class=\"area c%d\" d=\"", colour);
        for (int i = 0; i < x.length; i++) {
            append("%s%.1f %.1f", i == 0 ? "M" : "L", x[i], upper[i]);
        }
        for (int i = x.length - 1; i >= 0; i--) {
            append("L%.1f %.1f", x[i], lower[i]);
        }
        append("%s\"><title>%s</title></path>", x.length == 0 ? "" : "Z", escape(name));
    }

    /** A vertical line with a label, of a kind that the page's style knows. */
    void event(String kind, double x, double fromY, double toY, Align align, double labelX, String label) {
        append("<path class=\"event %s\" d=\"M%.1f %.1fV%.1f\"/>", kind, x, fromY, toY);
        append("<text class=\"event-label %s%s\" x=\"%.1f\" y=\"%.1f\">%s</text>", kind,
                align == Align.END ? " end" : "", labelX, fromY - 3, escape(label));
    }

    /** A text inside SVG or HTML. */
    static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\"", "&quot;");
    }

    @SuppressWarnings("AnnotateFormatMethod") // The annotation would be a library more for one method.
    private void append(String format, Object... values) {
        svg.append(String.format(Locale.ROOT, format, values));
    }
}
