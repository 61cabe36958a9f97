package tutti.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import tutti.command.Failure;

/**
 * A part of a page in Markdown that a command makes, between two lines that say so.
 *
 * @param name of the section
 * @param command that makes it
 */
public record DocsSection(String name, String command) {
    private String begin() {
        return "<!-- " + name + ": made by " + command + " -->";
    }

    private String end() {
        return "<!-- end of " + name + " -->";
    }

    /**
     * Replaces it.
     *
     * @throws Failure if the file has no place for it
     */
    public void replace(Path file, List<String> lines) throws IOException {
        String text = Files.exists(file) ? Files.readString(file) : "";
        int begin = text.indexOf(begin());
        int end = text.indexOf(end());
        if (begin < 0 || end < begin) {
            throw new Failure(file + " has no place for what is to be written", "put the lines '" + begin() + "' and '"
                    + end() + "' where it belongs");
        }
        Files.writeString(file, text.substring(0, begin + begin().length()) + "\n" + String.join("\n", lines) + "\n"
                + text.substring(end));
    }

    /**
     * A table.
     *
     * @param rows of which the first are the heads of its columns; all have as many cells
     */
    public static List<String> table(List<List<String>> rows) {
        List<String> lines = new ArrayList<>();
        for (List<String> row : rows) {
            lines.add("| " + String.join(" | ", row) + " |");
            if (lines.size() == 1) {
                lines.add("|" + "---|".repeat(row.size()));
            }
        }
        return lines;
    }
}
