package tutti.wire;

/** What a client's message changes of the names of its prepared statements and portals, and what undoes that if it has no effect. */
interface NameChange {
    /** None. */
    NameChange NONE = () -> {};

    /** The engine has skipped the message, or refused it. */
    void undone();

    /** The engine has done as it says. */
    default void confirmed() {
        // nothing more is to be done
    }
}
