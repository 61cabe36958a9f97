package tutti.eval.subjects;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tutti.command.Failure;

class SubjectsTest {
    private static SubjectsRun.Result run(boolean obsolescence, Trouble trouble) {
        return new SubjectsRun(new SubjectsRun.Setting(3, 20, 1000, 1500, obsolescence, trouble), 1).run();
    }

    @Test
    void newsIsKnownSoonerWhereObsoleteMessagesAreDropped() {
        SubjectsRun.Result all = run(false, Trouble.SLOW_MEMBER);
        SubjectsRun.Result fresh = run(true, Trouble.SLOW_MEMBER);
        assertEquals(0, all.unsentShare(), "nothing is obsolete, and the queue holds all");
        assertTrue(fresh.unsentShare() > 0.2, fresh::toString);
        assertTrue(fresh.meanMillis() < all.meanMillis() / 2, () -> fresh + " against " + all);
    }

    @Test
    void theSameSeedGivesTheSame() {
        assertEquals(run(true, Trouble.SLOW_MEMBER), run(true, Trouble.SLOW_MEMBER));
    }

    private static int command(StringWriter out, String... args) {
        return new CommandLine(new SubjectsCommand()).setOut(new PrintWriter(out, true))
                .setExecutionExceptionHandler((failure, _, _) -> {
                    out.append(String.valueOf(failure.getMessage()));
                    return failure instanceof Failure ? 2 : 1;
                }).execute(args);
    }

    @Test
    void aTableIsWritten(@TempDir Path directory) throws Exception {
        StringWriter out = new StringWriter();
        assertEquals(0, command(out, "--rates", "300", "--repetitions", "2", "--out", directory.toString()),
                out::toString);
        assertEquals(1 + 2 * Trouble.values().length, Files.readAllLines(directory.resolve("subjects.csv")).size());
    }

    @Test
    void whatIsCalledWronglyIsRefused() {
        StringWriter out = new StringWriter();
        assertEquals(2, command(out, "--rates", "0"), out::toString);
        assertEquals(2, command(out, "--members", "1"), out::toString);
    }
}
