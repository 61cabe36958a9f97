package tutti.report;

/** What a chart is drawn on. Coordinates are those of SVG: from the upper left corner, downwards. Colours are 0 to 7. */
interface Canvas {
    /** Where a text stands relative to its point. */
    enum Align {
        /** It begins there. */
        START("unit"),
        /** Its middle is there. */
        MIDDLE("tick mid"),
        /** It ends there. */
        END("tick end");

        private final String style;

        Align(String style) {
            this.style = style;
        }

        /** CSS classes. */
        String style() {
            return style;
        }
    }

    /** A heading that begins at a point. */
    void title(double x, double y, String text);

    /** A text on a line. */
    void text(Align align, double x, double y, String text);

    /** A text that is read from below, its middle at a point. */
    void upwards(double x, double y, String text);

    /** A thin grey line. */
    void grid(double fromX, double fromY, double toX, double toY);

    /** Lines from point to point. Where {@code y} is not a number they have a gap; a point between two gaps is a dot. */
    void curve(int colour, boolean dashed, String name, double[] x, double[] y);

    /** A point of a curve. */
    void dot(int colour, double x, double y);
}
