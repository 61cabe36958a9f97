package tutti.cli.sim;

import java.io.PrintWriter;
import java.util.Arrays;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tutti.command.Program;
import tutti.command.Failure;
import tutti.minha.example.Example;

/** Runs the examples of the programming library. */
@Command(name = "example", description = "Run a program that is written as for the JDK in the simulation: the examples of the"
        + " programming library, docs/simulation-library.md. Without a name, list them.")
final class ExampleCommand implements Callable<Integer> {
    @Parameters(paramLabel = "NAME", arity = "0..1", description = "The example; without it they are listed.")
    private @Nullable String name;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "What everything random follows from (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        if (name == null) {
            int width = Example.titles().stream().mapToInt(String::length).max().orElse(0);
            Arrays.stream(Example.values())
                    .forEach(example -> out.printf("%-" + width + "s  %s%n", example.title(), example.description()));
            out.flush();
            return Program.OK;
        }
        Example example;
        try {
            example = Example.of(name);
        } catch (IllegalArgumentException unknown) {
            throw Failure.usage(String.valueOf(unknown.getMessage()), "");
        }
        String fingerprint = example.run(seed, out::println);
        out.println(fingerprint);
        out.flush();
        return Program.OK;
    }
}
