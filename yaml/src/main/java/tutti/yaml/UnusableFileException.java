package tutti.yaml;

import java.util.List;
import java.util.stream.Collectors;

/** A file that cannot be used, with everything that is wrong with it: a line of the message for each problem. */
public final class UnusableFileException extends Exception {
    private static final long serialVersionUID = 1;

    private final transient List<Problem> problems;

    /**
     * About a file.
     *
     * @param problems at least one
     */
    public UnusableFileException(List<Problem> problems) {
        super(problems.stream().map(Problem::toString).collect(Collectors.joining(System.lineSeparator())));
        this.problems = List.copyOf(problems);
    }

    /** At least one. */
    public List<Problem> problems() {
        return problems;
    }
}
