package tutti.server.config;

/** A value that its record refuses. Says which key below the record it is about; the reader adds the rest. */
final class ImpossibleValue extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    private final String key;
    private final String reason;
    private final String remedy;

    /**
     * What is wrong.
     *
     * @param key relative to the record that throws, in the notation of the file
     * @param reason follows the key in a sentence
     * @param remedy what to write instead
     */
    ImpossibleValue(String key, String reason, String remedy) {
        super(key + " " + reason + "; " + remedy);
        this.key = key;
        this.reason = reason;
        this.remedy = remedy;
    }

    String key() {
        return key;
    }

    String reason() {
        return reason;
    }

    String remedy() {
        return remedy;
    }
}
