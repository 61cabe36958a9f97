package tutti.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.slf4j.LoggerFactory;

/** What a measurement ran on; every report says it. */
public final class Machine {
    private static final long KIB_PER_MIB = 1 << 10;

    private Machine() {}

    /** Name by name, in the order to show. */
    public static Map<String, String> describe() {
        Map<String, String> machine = new LinkedHashMap<>();
        machine.put("processors", Runtime.getRuntime().availableProcessors() + " × "
                + value("/proc/cpuinfo", "model name", System.getProperty("os.arch")));
        String memory = value("/proc/meminfo", "MemTotal", "");
        if (memory.endsWith(" kB")) {
            long kib = Long.parseLong(memory.substring(0, memory.length() - " kB".length()).strip());
            machine.put("memory", kib / KIB_PER_MIB + " MiB");
        }
        machine.put("system", System.getProperty("os.name") + " " + System.getProperty("os.version"));
        machine.put("Java", Runtime.version().toString());
        return machine;
    }

    /** The value of a line {@code name : value} of a file, or {@code otherwise} where there is none. */
    private static String value(String file, String name, String otherwise) {
        Path path = Path.of(file);
        if (!Files.isReadable(path)) {
            return otherwise;
        }
        try (Stream<String> lines = Files.lines(path)) {
            return lines.filter(line -> line.startsWith(name) && line.indexOf(':') > 0)
                    .map(line -> line.substring(line.indexOf(':') + 1).strip()).findFirst().orElse(otherwise);
        } catch (IOException e) {
            LoggerFactory.getLogger(Machine.class).warn("Cannot read {}: {}", file, e.getMessage());
            return otherwise;
        }
    }
}
