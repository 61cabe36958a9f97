package tutti.model.fit;

/** The families of distributions that durations are fitted with. */
public enum Family {
    /** Mean and standard deviation. */
    NORMAL("normal"),
    /** From the least to the greatest. */
    UNIFORM("uniform"),
    /** Mean. */
    EXPONENTIAL("exponential"),
    /** Mean and standard deviation of the logarithms. */
    LOGNORMAL("lognormal"),
    /** The sample itself, or the means of equal parts of it. */
    EMPIRICAL("empirical");

    private final String label;

    Family(String label) {
        this.label = label;
    }

    /** As scenario files call it. */
    public String label() {
        return label;
    }
}
