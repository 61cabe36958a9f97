package tutti.report;

import java.util.Locale;

/** Draws as SVG. What stands inside HTML has no colours of its own: they are CSS classes {@code c0} to {@code c7}. */
final class SvgCanvas implements Canvas {
    private static final String STYLE = """
            text{font:12px system-ui,sans-serif;fill:#4a5159}.title{font-size:14px;font-weight:600;fill:#1b1f24}
            .paper{fill:#fff}.grid{stroke:#dde1e6;fill:none}.end{text-anchor:end}.mid{text-anchor:middle}
            .line{fill:none;stroke:var(--c);stroke-width:1.9;stroke-linejoin:round}.dashed{stroke-dasharray:5 4}
            .dot{fill:var(--c)}
            .c0{--c:#3566c8}.c1{--c:#d1661f}.c2{--c:#1f8a70}.c3{--c:#a0459b}.c4{--c:#b58a00}.c5{--c:#c43c5c}
            .c6{--c:#4f8fb5}.c7{--c:#6b7280}
            """;

    private final StringBuilder svg = new StringBuilder();

    /**
     * Begins.
     *
     * @param above how much of the upper edge is left out
     */
    void open(int width, int height, int above, String label) {
        append("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 %d %d %d\" role=\"img\" aria-label=\"%s\">",
                above, width, height - above, Plot.escape(label));
    }

    /** Colours, on white. */
    void background(int width, int height) {
        append("<style>%s</style><rect class=\"paper\" width=\"%d\" height=\"%d\"/>", STYLE, width, height);
    }

    /** All of it. */
    String close() {
        return svg.append("</svg>").toString();
    }

    @Override
    public void title(double x, double y, String text) {
        append("<text class=\"title\" x=\"%.0f\" y=\"%.0f\">%s</text>", x, y, Plot.escape(text));
    }

    @Override
    public void text(Align align, double x, double y, String text) {
        append("<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>", align.style(), x, y, Plot.escape(text));
    }

    @Override
    public void upwards(double x, double y, String text) {
        append("<text class=\"unit mid\" transform=\"rotate(-90)\" x=\"%.1f\" y=\"%.1f\">%s</text>", -y, x,
                Plot.escape(text));
    }

    @Override
    public void grid(double fromX, double fromY, double toX, double toY) {
        append("<path class=\"grid\" d=\"M%.1f %.1fL%.1f %.1f\"/>", fromX, fromY, toX, toY);
    }

    @Override
    public void curve(int colour, boolean dashed, String name, double[] x, double[] y) {
        append("<path class=\"line%s c%d\" d=\"", dashed ? " dashed" : "", colour);
        for (int i = 0; i < x.length; i++) {
            append("%s%.1f %.1f", i == 0 ? "M" : "L", x[i], y[i]);
        }
        append("\"><title>%s</title></path>", Plot.escape(name));
    }

    @Override
    public void dot(int colour, double x, double y) {
        append("<circle class=\"dot c%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", colour, x, y);
    }

    @SuppressWarnings("AnnotateFormatMethod") // The annotation would be a library more for one method.
    private void append(String format, Object... values) {
        svg.append(String.format(Locale.ROOT, format, values));
    }
}
