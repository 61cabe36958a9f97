package tutti.wire;

import tutti.pgwire.ErrorFields;

/** What clients are told of requests that are logged and will be executed ({@code tutti.acknowledge = logged}). */
public final class LoggedRequests {
    /** With this each statement of the request is completed. */
    public static final String TAG = "LOGGED";

    private LoggedRequests() {}

    /**
     * The notice that comes with it.
     *
     * @param ticket the request's name, as clients know it
     */
    public static ErrorFields notice(String ticket) {
        return told(ticket, "");
    }

    /**
     * Likewise, of a statement behind one that was refused.
     *
     * @param number of it in its cycle, from 1
     */
    static ErrorFields notice(String ticket, int number) {
        return told(ticket, ", statement " + number + " of the cycle");
    }

    private static ErrorFields told(String ticket, String which) {
        return ErrorFields.of("NOTICE", "00000", "logged as " + ticket + which)
                .with('H', "SELECT tutti_outcome('" + ticket + "') tells what became of it.");
    }
}
