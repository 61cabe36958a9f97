package tutti.cli.pack;

import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.json.JsonMapper;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Trees;

/** Makes packages of the build that runs it. */
@Command(name = "package", description = "Make packages for hosts that have neither Java nor Maven: the tutti command, its"
        + " libraries, a Java runtime of its own, PostgreSQL, a unit for systemd; with checksums (docs/installing.md). They are"
        + " for hosts with this one's operating system and processor.")
public final class PackageCommand implements Callable<Integer> {
    /** What can be made. */
    enum Kind {
        /** An archive, unpacked anywhere. */
        TAR,
        /** For Debian, Ubuntu and what comes of them. */
        DEB,
        /** For containers. */
        IMAGE
    }

    @Option(names = "--out", paramLabel = "DIR", defaultValue = "packages", description = "Where to (default: ${DEFAULT-VALUE}).")
    private Path out = Path.of("packages");

    @Option(names = "--kinds", paramLabel = "KIND", split = ",", description = "Of ${COMPLETION-CANDIDATES} (default: all).")
    private Set<Kind> kinds = EnumSet.allOf(Kind.class);

    @Option(names = "--no-training", description = "Leave out what nodes learn in half a minute of work (tutti train): packages"
            + " are made sooner and are smaller, and nodes need more processor time.")
    private boolean untrained;

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        Path jar = Path.of(URI.create(
                PackageCommand.class.getProtectionDomain().getCodeSource().getLocation().toString()));
        if (!Files.isRegularFile(jar)) {
            throw new Failure("this program runs from directories of classes",
                    "packages are made of jars: build them, as"
                            + " ./tutti does");
        }
        Files.createDirectories(out);
        Path staging = Files.createTempDirectory(out.toRealPath(), "staging-");
        Map<String, Path> made = new LinkedHashMap<>();
        try {
            Distribution distribution = Distribution.stage(jar, staging);
            if (!untrained) {
                distribution.train();
            }
            for (Kind kind : kinds) {
                Path file = switch (kind) {
                    case TAR -> distribution.archive(out);
                    case DEB -> DebPackage.of(distribution, out);
                    case IMAGE -> ImageArchive.of(distribution, out);
                };
                made.put(Checksums.of(file), file);
            }
            Checksums.write(out, made);
        } finally {
            Trees.delete(staging);
        }
        PrintWriter to = spec.commandLine().getOut();
        if (json) {
            to.println(JsonMapper.shared().writeValueAsString(made.values().stream().map(Path::toString).toList()));
        } else {
            for (Map.Entry<String, Path> each : made.entrySet()) {
                to.println(each.getValue() + "  " + (Files.size(each.getValue()) >> 20) + " MiB  sha256 "
                        + each.getKey());
            }
        }
        return Program.OK;
    }
}
