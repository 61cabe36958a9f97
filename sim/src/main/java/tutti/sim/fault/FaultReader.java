package tutti.sim.fault;

import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Nanos;
import tutti.sim.net.Impairment;

/** Reads the text of plans and their faults. What it throws says what is wrong with the line, not where the line is. */
final class FaultReader {
    private FaultReader() {}

    /** Reads what {@link Fault#toString} writes. */
    static Fault fault(String line, List<String> hosts) {
        List<String> words = List.of(line.strip().split("\\s+"));
        if (words.size() < 6 || !words.get(0).matches("f[0-9]{1,9}") || !words.get(1).equals("at")
                || !words.get(3).equals("for")) {
            throw new IllegalArgumentException("'" + line.strip()
                    + "' is no fault: write fNUMBER at TIME for TIME KIND and its parameters, like f1 at 1.2s for 300ms pause host "
                    + hosts.getFirst());
        }
        FaultKind kind = FaultKind.of(words.get(5));
        return new Fault(Integer.parseInt(words.get(0).substring(1)), Nanos.parse(words.get(2)),
                Nanos.parse(words.get(4)), action(kind, words.subList(6, words.size()), hosts));
    }

    private static Action action(FaultKind kind, List<String> words, List<String> hosts) {
        Parameters given = new Parameters(values(kind, words), hosts);
        return kind.action(kind.parameters().stream().map(given::value).toList());
    }

    /** Each parameter's word is followed by its value: one word, or, for a distribution, all up to the next parameter's. */
    private static Map<String, String> values(FaultKind kind, List<String> words) {
        Map<String, String> values = new LinkedHashMap<>();
        int at = 0;
        List<String> valid = kind.parameterWords();
        for (RecordComponent component : kind.parameters()) {
            String parameter = component.getName();
            if (at == words.size()) {
                throw new IllegalArgumentException(kind.word() + " needs " + parameter + ": "
                        + String.join(" and ", valid));
            }
            if (!words.get(at).equals(parameter)) {
                throw FaultKind.unknown("parameter of " + kind.word() + " at this place named", words.get(at),
                        List.of(parameter));
            }
            int end = at + 1;
            while (end < words.size() && (end == at + 1 || component.getType().equals(Distribution.class))
                    && !valid.contains(words.get(end))) {
                end++;
            }
            if (end == at + 1) {
                throw new IllegalArgumentException(parameter + " of " + kind.word() + " has no value");
            }
            values.put(parameter, String.join(" ", words.subList(at + 1, end)));
            at = end;
        }
        if (at < words.size()) {
            throw new IllegalArgumentException(
                    "'" + words.get(at) + "' is there twice, or too much: " + kind.word() + " has "
                            + String.join(" and ", valid));
        }
        return values;
    }

    private record Parameters(Map<String, String> values, List<String> valid) {
        Object value(RecordComponent parameter) {
            String name = parameter.getName();
            String text = values.getOrDefault(name, "");
            Class<?> type = parameter.getType();
            if (type.isEnum()) {
                return oneOf(name, text, type.getEnumConstants());
            }
            return switch (type.getSimpleName()) {
                case "String" -> name.equals("host") || name.equals("by") ? host(text) : text;
                case "List" -> text.equals(Impairment.ANY)
                        ? List.of(Impairment.ANY)
                        : Stream.of(text.split(",", -1)).map(this::host).toList();
                case "double" -> number(name, text);
                case "int" -> whole(name, text);
                case "Distribution" -> Distribution.parse(text);
                case "Duration" -> Duration.ofNanos(Nanos.parse(text));
                default -> throw new AssertionError("plans have no parameters of " + type);
            };
        }

        private String host(String host) {
            if (!valid.contains(host)) {
                throw FaultKind.unknown("host", host, valid);
            }
            return host;
        }

        private static double number(String name, String text) {
            if (!text.matches("-?[0-9]{1,9}(\\.[0-9]{1,17})?")) {
                throw new IllegalArgumentException("'" + text + "' is no number, as " + name + " must be");
            }
            return Double.parseDouble(text);
        }

        private static int whole(String name, String text) {
            if (!text.matches("[0-9]{1,9}")) {
                throw new IllegalArgumentException("'" + text + "' is no whole number, as " + name + " must be");
            }
            return Integer.parseInt(text);
        }

        private static Object oneOf(String name, String text, Object[] all) {
            List<String> words = Stream.of(all).map(one -> Action.word((Enum<?>) one)).toList();
            int index = words.indexOf(text);
            if (index < 0) {
                throw FaultKind.unknown(name, text, words);
            }
            return all[index];
        }
    }
}
