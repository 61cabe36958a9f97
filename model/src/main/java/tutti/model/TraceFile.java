package tutti.model;

import java.util.Locale;
import tutti.core.protocol.Stage;

/**
 * A timeline of transactions and their stages in the trace event format that Perfetto and Chrome's viewer read. Sites are
 * processes, transactions threads of them. Bounded: what comes when it is full is left out, and counted.
 */
public final class TraceFile {
    private static final double NANOS_PER_MICRO = 1e3;

    private final StringBuilder json = new StringBuilder();
    private final int charactersMax;
    private long leftOut;

    /**
     * Empty.
     *
     * @param charactersMax of it; 0 records nothing
     */
    public TraceFile(int charactersMax) {
        this.charactersMax = charactersMax;
    }

    void span(int site, Work work, Stage stage, long since, long now) {
        if (charactersMax > 0 && now > since) {
            add(stage.description(), "stage", site, work, since, now, "");
        }
    }

    void ended(int site, Work work, String cause, long since, long now) {
        if (charactersMax > 0) {
            add(work.kind.label() + (cause.isEmpty() ? "" : " aborted: " + cause), "transaction", site, work, since,
                    now, cause);
        }
    }

    private void add(String name, String category, int site, Work work, long since, long now, String cause) {
        if (json.length() > charactersMax) {
            leftOut++;
            return;
        }
        json.append(json.isEmpty() ? "\n" : ",\n")
                .append(String.format(Locale.ROOT,
                        "{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,"
                                + "\"args\":{\"transaction\":%d%s}}",
                        name, category, site, work.number, since / NANOS_PER_MICRO, (now - since) / NANOS_PER_MICRO,
                        work.number, cause.isEmpty() ? "" : ",\"cause\":\"" + cause + "\""));
    }

    /** Spans that there was no room for. */
    public long leftOut() {
        return leftOut;
    }

    /**
     * The file.
     *
     * @param sites their names
     */
    public String json(Iterable<String> sites) {
        StringBuilder names = new StringBuilder();
        int site = 0;
        for (String name : sites) {
            names.append(json.isEmpty() && site == 0 ? "\n" : ",\n")
                    .append("{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":").append(site++)
                    .append(",\"args\":{\"name\":\"").append(name).append("\"}}");
        }
        return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[" + json + names + "\n]}\n";
    }
}
