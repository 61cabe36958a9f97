package tutti.report;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.command.Screen;

/** What commands have in common that measure: they say on what, and write what they have found as JSON if that is wanted. */
public class MeasurementOptions {
    @Option(names = "--json", paramLabel = "FILE", description = "Where to write all numbers as JSON.")
    private @Nullable Path json;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec;

    private MeasurementConditions conditions;

    /** Says on what it is measured: this machine and the disk of temporary files. Returns where to say more. */
    public Screen begin() throws IOException {
        return begin(Path.of(System.getProperty("java.io.tmpdir")));
    }

    /** The same with the disk of another directory. */
    public Screen begin(Path directory) throws IOException {
        Screen screen = Screen.standard(spec.commandLine().getOut());
        conditions = MeasurementConditions.look(directory);
        conditions.lines().forEach(screen::line);
        return screen;
    }

    /** On what it is measured; since it has been said. */
    public MeasurementConditions conditions() {
        return conditions;
    }

    /** Where numbers are to be written; null if nobody wants them. */
    public @Nullable Path json() {
        return json;
    }

    /** Writes what has been found, if it is wanted, and says so. */
    public void write(String benchmark, Map<String, ?> found, Screen screen) {
        conditions.writeNumbers(json, benchmark, found, screen);
    }
}
