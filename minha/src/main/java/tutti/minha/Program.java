package tutti.minha;

/** What a process does: the main method of a program. */
@FunctionalInterface
public interface Program {
    /**
     * Runs in the main thread of the process. What it throws ends that thread, as it would outside, and is printed.
     *
     * @param arguments as on a command line
     */
    void main(String[] arguments) throws Exception;
}
