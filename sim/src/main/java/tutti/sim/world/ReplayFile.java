package tutti.sim.world;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocols;
import tutti.sim.fault.FaultPlan;
import tutti.sim.world.database.EngineKind;

/**
 * A scenario as text, for people and for {@code ./tutti sim replay}: lines of a word and its value, then the fault plan.
 *
 * @param scenario to be run
 * @param mutant what is broken on purpose in it; {@code none} if nothing is
 * @param failed names of the checks that failed; empty if none did
 * @param fingerprint of the run that it was written from; a replay by the same build gives the same
 */
public record ReplayFile(Scenario scenario, String mutant, List<String> failed, String fingerprint) {
    /** Nothing is broken on purpose. */
    public static final String NO_MUTANT = "none";

    private static final String FORMAT = "tutti-scenario";
    private static final String VERSION = "2";
    /** Only where a table is not on all nodes. */
    private static final String PLACEMENT = "placement";
    private static final String PLAN = "fault-plan";
    private static final List<String> HEAD = List.of(FORMAT, "protocol", "parameters", "order", "engine", "seed",
            "transactions", "mutant", "failed", "fingerprint");

    public ReplayFile {
        failed = List.copyOf(failed);
    }

    /**
     * Reads what {@link #text} writes.
     *
     * @throws IllegalArgumentException if it cannot be read, saying which line is wrong
     */
    public static ReplayFile parse(String text) {
        Map<String, String> head = new LinkedHashMap<>();
        List<String> plan = new ArrayList<>();
        for (String line : text.lines().toList()) {
            if (!plan.isEmpty() || line.startsWith(PLAN)) {
                plan.add(line);
            } else if (!line.isBlank() && !line.startsWith("#")) {
                String[] words = line.strip().split("\\s+", 2);
                head.put(words[0], words.length < 2 ? "" : words[1]);
            }
        }
        for (String word : HEAD) {
            if (!head.containsKey(word)) {
                throw new IllegalArgumentException("no line '" + word + " ...' before '" + PLAN + "'");
            }
        }
        if (!head.getOrDefault(FORMAT, "").equals(VERSION)) {
            throw new IllegalArgumentException("this is version " + head.get(FORMAT) + " of the format, only " + VERSION
                    + " can be read");
        }
        FaultPlan faults = FaultPlan.parse(String.join("\n", plan));
        Scenario scenario = new Scenario(number("seed", head), protocol(head),
                word(Scenario.OrderKind.values(), "order", head), word(EngineKind.values(), "engine", head),
                Placements.parse(value(PLACEMENT, head)),
                faults.hosts(), (int) number("transactions", head), faults);
        String failed = value("failed", head);
        return new ReplayFile(scenario, value("mutant", head),
                failed.isEmpty() ? List.of() : Arrays.asList(failed.split("; ")), value("fingerprint", head));
    }

    private static String value(String word, Map<String, String> head) {
        return head.getOrDefault(word, "");
    }

    private static long number(String word, Map<String, String> head) {
        try {
            return Long.parseLong(value(word, head));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(word + " is '" + value(word, head) + "', no whole number", e);
        }
    }

    private static ChosenProtocol protocol(Map<String, String> head) {
        return Protocols.STANDARD.choose(value("protocol", head), parameters(value("parameters", head)));
    }

    private static Map<String, String> parameters(String text) {
        Map<String, String> parameters = new TreeMap<>();
        for (String one : text.isEmpty() ? List.<String>of() : Arrays.asList(text.split(", "))) {
            int equals = one.indexOf('=');
            if (equals < 1) {
                throw new IllegalArgumentException("parameter '" + one + "': write NAME=VALUE");
            }
            parameters.put(one.substring(0, equals), one.substring(equals + 1));
        }
        return parameters;
    }

    private static <E extends Enum<E>> E word(E[] values, String word, Map<String, String> head) {
        for (E one : values) {
            if (word(one).equals(head.get(word))) {
                return one;
            }
        }
        throw new IllegalArgumentException(word + " is '" + head.get(word) + "', which is none of "
                + Arrays.stream(values).map(ReplayFile::word).toList());
    }

    private static String word(Enum<?> one) {
        return one.name().toLowerCase(Locale.ROOT);
    }

    /** As text. */
    public String text() {
        List<String> parameters = new ArrayList<>();
        new TreeMap<>(scenario.protocol().parameters()).forEach((name, value) -> parameters.add(name + "=" + value));
        Map<String, String> head = new LinkedHashMap<>();
        head.put(FORMAT, VERSION);
        head.put("protocol", scenario.protocol().name());
        head.put("parameters", String.join(", ", parameters));
        head.put("order", word(scenario.order()));
        head.put("engine", word(scenario.engine()));
        if (!scenario.placement().isEverywhere()) {
            head.put(PLACEMENT, Placements.text(scenario.placement()));
        }
        head.put("seed", Long.toString(scenario.seed()));
        head.put("transactions", Integer.toString(scenario.transactions()));
        head.put("mutant", mutant);
        head.put("failed", String.join("; ", failed));
        head.put("fingerprint", fingerprint);
        StringBuilder text = new StringBuilder();
        head.forEach((word, value) -> text.append((word + " " + value).strip()).append('\n'));
        return text.append(scenario.plan()).toString();
    }
}
