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

    @Test
    void theTableOfThePageIsCurrent() throws Exception {
        String row = "one slow member,3000,yes,";
        String cell = Files.readAllLines(Path.of("..", "docs", "figures", "subjects.csv")).stream()
                .filter(line -> line.startsWith(row)).map(line -> line.substring(row.length()).split(",", -1)[0])
                .findFirst().orElse("none");
        String[] mean = cell.split(" ± ", -1);
        // One run lies within so many half widths of the mean over ten, unless it is one in thousands: sqrt(11), twice.
        double most = 6.6 * (Double.parseDouble(mean[1]) + 0.05);
        double now = new SubjectsRun(new SubjectsRun.Setting(3, 100, 1000, 3000, true, Trouble.SLOW_MEMBER), 1).run()
                .meanMillis();
        assertEquals(Double.parseDouble(mean[0]), now, most, "make docs/figures/subjects.csv anew: tutti sim subjects");
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
