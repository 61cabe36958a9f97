package tutti.server.config;

import java.util.List;
import java.util.stream.Collectors;

/** A configuration file that cannot be used, with everything that is wrong with it. */
public final class ConfigException extends Exception {
    private static final long serialVersionUID = 1;

    private final transient List<Problem> problems;

    ConfigException(List<Problem> problems) {
        super(problems.stream().map(Problem::toString).collect(Collectors.joining(System.lineSeparator())));
        this.problems = List.copyOf(problems);
    }

    /** At least one. */
    public List<Problem> problems() {
        return problems;
    }

    /**
     * One thing that is wrong.
     *
     * @param file where
     * @param line counted from 1; 0 if it is not about one line
     * @param key full path of the key, or empty if the file is not even YAML
     * @param reason follows the key in a sentence
     * @param remedy what to write instead: the nearest valid key, the valid range; may be empty
     */
    public record Problem(String file, int line, String key, String reason, String remedy) {
        @Override
        public String toString() {
            return file + (line > 0 ? ":" + line : "") + ": " + (key.isEmpty() ? "" : key + " ") + reason
                    + (remedy.isEmpty() ? "" : "; " + remedy);
        }
    }
}
