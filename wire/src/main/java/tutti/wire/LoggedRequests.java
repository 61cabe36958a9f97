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
        return ErrorFields.of("NOTICE", "00000", "logged as " + ticket)
                .with('H', "SELECT tutti_outcome('" + ticket + "') tells what became of it.");
    }
}
