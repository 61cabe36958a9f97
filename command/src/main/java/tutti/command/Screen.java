package tutti.command;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * What a person sees of a command that takes a while: lines that stay, and on a terminal a block below them that is drawn
 * anew. Where the output is no terminal there are no colours and no redrawing, only lines. Safe for several threads.
 */
public final class Screen {
    private final PrintWriter out;
    private final boolean terminal;
    private int liveLines;

    /**
     * Writes to {@code out}.
     *
     * @param terminal whether it understands colours and cursor movements
     */
    public Screen(PrintWriter out, boolean terminal) {
        this.out = out;
        this.terminal = terminal;
    }

    /** Standard output; a terminal if it is one and the environment does not forbid colours (NO_COLOR, TERM=dumb). */
    @SuppressWarnings("SystemConsoleNull") // It is null: Java's own console, the default, exists on a terminal only.
    public static Screen standard(PrintWriter out) {
        boolean forbidden = System.getenv("NO_COLOR") != null || "dumb".equals(System.getenv("TERM"));
        return new Screen(out, !forbidden && System.console() != null);
    }

    /** Whether the block below is drawn anew, and colours are shown. */
    public boolean isTerminal() {
        return terminal;
    }

    /** Prints a line that stays, above the live block. */
    public synchronized void line(String text) {
        erase();
        out.println(text);
        out.flush();
    }

    /** Replaces the live block; prints nothing if this is no terminal. */
    public synchronized void live(List<String> lines) {
        if (!terminal) {
            return;
        }
        erase();
        lines.forEach(out::println);
        liveLines = lines.size();
        out.flush();
    }

    private void erase() {
        if (liveLines > 0) {
            out.print("\033[" + liveLines + "A\033[J");
            liveLines = 0;
        }
    }

    /** A heading. */
    public String bold(String text) {
        return coloured("1", text);
    }

    /** Something less important. */
    public String dim(String text) {
        return coloured("2", text);
    }

    /** Something good. */
    public String good(String text) {
        return coloured("32", text);
    }

    /** Something bad. */
    public String bad(String text) {
        return coloured("31", text);
    }

    /** Something to notice. */
    public String notice(String text) {
        return coloured("33", text);
    }

    private String coloured(String code, String text) {
        return terminal ? "\033[" + code + "m" + text + "\033[0m" : text;
    }

    /** So many of something, such as {@code 1 table} or {@code 2 tables}. */
    public static String count(long count, String what) {
        return count + " " + what + (count == 1 ? "" : "s");
    }

    /** Lines up rows in columns; the first row is the heading. Numbers and what looks like one go to the right. */
    public static List<String> table(List<List<String>> rows) {
        int columns = rows.stream().mapToInt(List::size).max().orElse(0);
        int[] widths = new int[columns];
        boolean[] right = new boolean[columns];
        for (int column = 0; column < columns; column++) {
            right[column] = rows.size() > 1;
            for (int row = 0; row < rows.size(); row++) {
                String cell = cell(rows.get(row), column);
                widths[column] = Math.max(widths[column], cell.length());
                right[column] &= row == 0 || cell.isEmpty() || cell.equals("-") || Character.isDigit(cell.charAt(0));
            }
        }
        List<String> lines = new ArrayList<>();
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder();
            for (int column = 0; column < columns; column++) {
                String format = "%" + (right[column] ? "" : "-") + Math.max(1, widths[column]) + "s";
                line.append(column == 0 ? "" : "  ").append(String.format(Locale.ROOT, format, cell(row, column)));
            }
            lines.add(line.toString().stripTrailing());
        }
        return lines;
    }

    private static String cell(List<String> row, int column) {
        return column < row.size() ? row.get(column) : "";
    }
}
