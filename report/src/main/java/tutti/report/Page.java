package tutti.report;

import java.util.List;
import java.util.Map;

/** A page of HTML that needs nothing else, made from headings, figures, tables and charts, in the style of all reports. */
public final class Page {
    private final StringBuilder html = new StringBuilder(64 << 10);

    /** A page with nothing on it. */
    public Page(String title, String subtitle) {
        html.append("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">")
                .append("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>")
                .append(SvgCanvas.escape(title)).append("</title><style>\n").append(HtmlReport.STYLE)
                .append(".dot{fill:var(--c)}</style></head><body><main><h1>").append(SvgCanvas.escape(title))
                .append("</h1><p class=\"sub\">").append(SvgCanvas.escape(subtitle)).append("</p>");
    }

    /** What is found, in a word or two. */
    public Page verdict(boolean good, String text) {
        html.append("<p class=\"verdict ").append(good ? "ok\">✓ " : "no\">✗ ").append(SvgCanvas.escape(text))
                .append("</p>");
        return this;
    }

    /** A heading. */
    public Page heading(String text) {
        html.append("<h2>").append(SvgCanvas.escape(text)).append("</h2>\n");
        return this;
    }

    /** Numbers that are to be seen first, by what they are; a number and its unit each. */
    public Page figures(Map<String, String> figures) {
        html.append("<div class=\"figures\">");
        figures.forEach((label, value) -> html.append("<div class=\"figure\"><b>").append(SvgCanvas.escape(value))
                .append("</b><span>").append(SvgCanvas.escape(label)).append("</span></div>"));
        html.append("</div>\n");
        return this;
    }

    /** A plot over time. */
    public Page plot(Plot plot) {
        html.append(plot.html());
        return this;
    }

    /** A chart. */
    public Page chart(Chart chart) {
        html.append(chart.html());
        return this;
    }

    /** What follows stands side by side as far as there is room, until {@link #endGrid}. */
    public Page beginGrid() {
        html.append("<div class=\"two\">");
        return this;
    }

    /** What follows stands below. */
    public Page endGrid() {
        html.append("</div>\n");
        return this;
    }

    /** A table; the first row is the heading. Columns of numbers stand to the right, but for the first one. */
    public Page table(List<List<String>> rows) {
        html.append("<div class=\"scroll\"><table>");
        for (int row = 0; row < rows.size(); row++) {
            html.append("<tr>");
            for (int column = 0; column < rows.get(row).size(); column++) {
                String tag = row == 0 ? "th" : "td";
                html.append('<').append(tag).append(column == 0 || isText(rows, column) ? ">" : " class=\"n\">")
                        .append(SvgCanvas.escape(rows.get(row).get(column))).append("</").append(tag).append('>');
            }
            html.append("</tr>");
        }
        html.append("</table></div>\n");
        return this;
    }

    private static boolean isText(List<List<String>> rows, int column) {
        return rows.stream().skip(1).anyMatch(row -> {
            String cell = row.get(column);
            return !cell.isEmpty() && Character.isLetter(cell.charAt(0));
        });
    }

    /** The whole page. */
    public String html() {
        return html + "</main></body></html>\n";
    }
}
